/* Which kernels this processor gets: see vector_kernels.h. CMakeLists.txt says what each set was
 * compiled for; what is asked of the processor here must cover that. */
#include "vector_kernels.h"

#include "oap_vector.h"

extern const vector_kernels vector_kernels_portable;
#if defined(__x86_64__)
extern const vector_kernels vector_kernels_avx2;
extern const vector_kernels vector_kernels_avx512;

static bool has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

const vector_kernels *vector_kernels_at(unsigned i) {
  if (i == 0) {
    return &vector_kernels_portable;
  }
#if defined(__x86_64__)
  if (i == 1 && has_avx2()) {
    return &vector_kernels_avx2;
  }
  if (i == 2 && has_avx512()) {
    return &vector_kernels_avx512;
  }
#endif
  return NULL;
}

const vector_kernels *vector_kernels_best(void) {
  const vector_kernels *best = &vector_kernels_portable;
  for (unsigned i = 1; vector_kernels_at(i) != NULL; i++) {
    best = vector_kernels_at(i);
  }
  return best;
}

const char *oap_vector_kernels(void) { return vector_kernels_best()->name; }
