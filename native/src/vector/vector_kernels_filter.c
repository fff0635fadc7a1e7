/* Testing values and collecting the rows that match: see vector_kernels.h, and vector_kernels.c for
 * how this is compiled. A test writes a byte per row; bytes become row numbers at the end, because
 * most zones have few rows that match and eight bytes without one are passed over at once. */
#include "vector_kernels_part.h"
#include "vector_order.h"

void vector_expand(const uint8_t *restrict bitmap, uint32_t rows, uint8_t *restrict nulls) {
  uint32_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    /* Each byte keeps one of the eight bits; those left are carried up to bit 7. */
    uint64_t bits = bitmap[i / 8] * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
    uint64_t set = (bits + UINT64_C(0x00406070787c7e7f)) >> 7 & UINT64_C(0x0101010101010101);
    memcpy(nulls + i, &set, 8);
  }
  for (; i < rows; i++) {
    nulls[i] = bitmap[i / 8] >> i % 8 & 1;
  }
}

void vector_range32(const uint32_t *restrict values, uint32_t rows, uint32_t low, uint32_t span,
                    uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    flags[i] = values[i] - low <= span;
  }
}

void vector_range64(const uint64_t *restrict values, uint32_t rows, uint64_t low, uint64_t span,
                    uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    flags[i] = values[i] - low <= span;
  }
}

void vector_bitmap32(const uint32_t *restrict values, uint32_t rows, uint32_t low, uint32_t span,
                     const uint32_t *restrict bitmap, uint32_t skipped, uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    uint32_t above = values[i] - low;
    uint32_t is_inside = above <= span;
    uint32_t bit = (is_inside ? above : 0) + skipped;
    flags[i] = (uint8_t)(bitmap[bit / 32] >> bit % 32 & is_inside);
  }
}

void vector_bitmap64(const uint64_t *restrict values, uint32_t rows, uint64_t low, uint64_t span,
                     const uint32_t *restrict bitmap, uint32_t skipped, uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    uint64_t above = values[i] - low;
    uint32_t is_inside = above <= span;
    uint32_t bit = (is_inside ? (uint32_t)above : 0) + skipped;
    flags[i] = (uint8_t)(bitmap[bit / 32] >> bit % 32 & is_inside);
  }
}

void vector_sieve32(const uint32_t *restrict values, uint32_t rows, uint32_t low, uint32_t span,
                    uint64_t first, const uint32_t *restrict sieve, unsigned shift,
                    uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    uint32_t above = values[i] - low;
    uint32_t bit = (uint32_t)((first + above) * VECTOR_HASH_FACTOR >> shift);
    flags[i] = (uint8_t)(sieve[bit / 32] >> bit % 32 & (uint32_t)(above <= span));
  }
}

void vector_sieve64(const uint64_t *restrict values, uint32_t rows, uint64_t low, uint64_t span,
                    uint64_t first, const uint32_t *restrict sieve, unsigned shift,
                    uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    uint64_t above = values[i] - low;
    uint32_t bit = (uint32_t)((first + above) * VECTOR_HASH_FACTOR >> shift);
    flags[i] = (uint8_t)(sieve[bit / 32] >> bit % 32 & (uint32_t)(above <= span));
  }
}

void vector_floats(const float *restrict values, uint32_t rows, int64_t low, int64_t high,
                   uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    int64_t order = vector_order((double)values[i]);
    flags[i] = (order >= low) & (order <= high);
  }
}

void vector_doubles(const double *restrict values, uint32_t rows, int64_t low, int64_t high,
                    uint8_t *restrict flags) {
  for (uint32_t i = 0; i < rows; i++) {
    int64_t order = vector_order(values[i]);
    flags[i] = (order >= low) & (order <= high);
  }
}

void vector_mask(uint8_t *restrict flags, const uint8_t *restrict nulls, uint32_t rows) {
  for (uint32_t i = 0; i < rows; i++) {
    flags[i] &= (uint8_t)(nulls[i] == 0);
  }
}

static inline uint32_t sum(const uint8_t *flags, uint32_t rows) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rows; i++) {
    found += flags[i];
  }
  return found;
}

/* Where many match: every row is written, and only those that match are kept. */
static uint32_t compact_many(const uint8_t *flags, uint32_t rows, const uint16_t *in,
                             uint16_t *out) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rows; i++) {
    out[found] = in == NULL ? (uint16_t)i : in[i];
    found += flags[i];
  }
  return found;
}

uint32_t vector_compact(const uint8_t *flags, uint32_t rows, const uint16_t *in, uint16_t *out) {
  if (sum(flags, rows) > rows / 8) {
    return compact_many(flags, rows, in, out);
  }
  uint32_t found = 0, i = 0;
  for (; i + 8 <= rows; i += 8) {
    for (uint64_t eight = vector_eight_flags(flags + i); eight != 0;) {
      uint32_t row = i + vector_next_flag(&eight);
      out[found++] = in == NULL ? (uint16_t)row : in[row];
    }
  }
  for (; i < rows; i++) {
    if (flags[i] != 0) {
      out[found++] = in == NULL ? (uint16_t)i : in[i];
    }
  }
  return found;
}
