/*
 * The loops over values, compiled several times for different processors and chosen when first used
 * (vector_dispatch.c). No kernel reads or
 * writes more than it is told to, and none trusts a value it reads.
 */
#ifndef OAP_VECTOR_KERNELS_H
#define OAP_VECTOR_KERNELS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Flags are bytes of 0 or 1. Where few are set they are gone through eight at a time:
 * for (uint64_t eight = vector_eight_flags(flags + i); eight != 0;) {
 *   uint32_t row = i + vector_next_flag(&eight); */
static inline uint64_t vector_eight_flags(const uint8_t *flags) {
  uint64_t eight;
  memcpy(&eight, flags, sizeof(eight));
  return eight;
}

/* The place of the first flag that is set, which is taken away. */
static inline uint32_t vector_next_flag(uint64_t *eight) {
  uint32_t first = (uint32_t)__builtin_ctzll(*eight) / 8;
  *eight &= *eight - 1;
  return first;
}

/* Functions in an array of four are for values of 1, 2, 4 and 8 bytes. */
typedef struct vector_kernels {
  const char *name;

  /* Packs whole blocks of 512 values, each below 2^width; width 1 to 32, and 33 to 64. */
  void (*pack32)(const uint32_t *values, uint32_t blocks, uint32_t width, void *packed);
  void (*pack64)(const uint64_t *values, uint32_t blocks, uint32_t width, void *packed);

  /* Unpacks rows values and adds reference to each, modulo the size of the output. A width above
   * 32 is for 8 bytes only. */
  void (*unpack[4])(const void *packed, uint32_t width, uint64_t reference, uint32_t rows,
                    void *values);

  /* values[i] = entries[codes[i]]; the codes are known to be right. */
  void (*gather[4])(const void *entries, const uint32_t *codes, uint32_t rows, void *values);
  uint32_t (*greatest)(const uint32_t *values, uint32_t rows);

  /* Sign-extends values of 1 and 2 bytes. */
  void (*widen8)(const void *values, uint32_t rows, uint32_t *wide);
  void (*widen16)(const void *values, uint32_t rows, uint32_t *wide);

  /* nulls[i] = bit i of the bitmap. */
  void (*expand)(const uint8_t *bitmap, uint32_t rows, uint8_t *nulls);

  /* flags[i] = whether value i matches, 0 or 1. In a range: value - low <= span, modulo. */
  void (*range32)(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                  uint8_t *flags);
  void (*range64)(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                  uint8_t *flags);
  /* In the range, and bit value - low + skipped of the bitmap is set. */
  void (*bitmap32)(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                   const uint32_t *bitmap, uint32_t skipped, uint8_t *flags);
  void (*bitmap64)(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                   const uint32_t *bitmap, uint32_t skipped, uint8_t *flags);
  /* In the range, and the bit of its hash is set in a sieve of 2^(64 - shift) bits; keys are
   * value - low + first. */
  void (*sieve32)(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                  uint64_t first, const uint32_t *sieve, unsigned shift, uint8_t *flags);
  void (*sieve64)(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                  uint64_t first, const uint32_t *sieve, unsigned shift, uint8_t *flags);
  /* Floating-point values whose order (vector_order.h) is between low and high. */
  void (*floats)(const float *values, uint32_t rows, int64_t low, int64_t high, uint8_t *flags);
  void (*doubles)(const double *values, uint32_t rows, int64_t low, int64_t high, uint8_t *flags);

  /* Clears the flags of rows whose byte in nulls is set. */
  void (*mask)(uint8_t *flags, const uint8_t *nulls, uint32_t rows);
  /* The numbers i, or in[i], whose flag is set, to out; returns how many. out may be in. */
  uint32_t (*compact)(const uint8_t *flags, uint32_t rows, const uint16_t *in, uint16_t *out);

  /* For the encoder: least and greatest; places where a value differs from the one before. */
  void (*bounds)(const int64_t *values, uint32_t rows, int64_t *least, int64_t *greatest);
  uint32_t (*changes)(const int64_t *values, uint32_t rows);
  /* Sign-extends; and takes reference away, where what is left has 32 bits. */
  void (*extend32)(const int32_t *values, uint32_t rows, int64_t *wide);
  void (*narrow)(const int64_t *values, uint32_t rows, uint64_t reference, uint32_t *out);
  /* Copies flags as 0 and 1; returns how many are set. */
  uint32_t (*flags)(const uint8_t *in, uint32_t rows, uint8_t *out);
  /* Copies numbers below a bound, and 0 for the others; returns whether any of the others has no
   * flag in nulls, or any at all when that is NULL. */
  bool (*bound_ids)(const uint32_t *ids, const uint8_t *nulls, uint32_t rows, uint32_t bound,
                    uint32_t *out);
} vector_kernels;

/* Multiplicative hashing: the upper bits of the product are the hash. */
#define VECTOR_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* What this processor gets. */
const vector_kernels *vector_kernels_best(void);

/* The i-th that this processor can run, portable first; NULL past the last. For tests. */
const vector_kernels *vector_kernels_at(unsigned i);

#endif
