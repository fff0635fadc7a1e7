/* Small functions of numbers that several layers need. */
#ifndef OAP_ARITHMETIC_H
#define OAP_ARITHMETIC_H

#include <stdint.h>

static inline uint64_t oap_least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t oap_most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The least multiple of a number at or above x. */
static inline uint64_t oap_round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

/* Spreads the bits of a number over all 64 (Stafford's Mix13, the finalizer of SplitMix64). */
static inline uint64_t oap_mix(uint64_t x) {
  x ^= x >> 30;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  x ^= x >> 27;
  x *= UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

#endif
