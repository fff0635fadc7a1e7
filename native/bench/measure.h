/* What the benchmarks measure with: processor time of the thread, so that other work on the machine
 * disturbs less, and medians. */
#ifndef OAP_MEASURE_H
#define OAP_MEASURE_H

#include "random.h"

#include <stdlib.h>
#include <time.h>

/* Seconds of processor time that this thread has used. */
static inline double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For qsort. */
static inline int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double median(double *values, size_t count) {
  qsort(values, count, sizeof(*values), compare);
  return values[count / 2];
}

#endif
