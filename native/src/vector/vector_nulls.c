/* Nulls of a zone as bitmap or list: written, and read whole or for some rows. */
#include "vector_nulls.h"

/* Eight flags of 0 or 1 as bits, the first one the lowest. */
static uint8_t bits_of_flags(const uint8_t *flags) {
  return (uint8_t)(vector_eight_flags(flags) * UINT64_C(0x0102040810204080) >> 56);
}

void vector_nulls_put(const uint8_t *is_null, uint32_t rows, uint32_t nulls, unsigned char *out) {
  memset(out, 0, vector_nulls_bytes(rows, nulls));
  bool are_listed = vector_nulls_are_listed(rows, nulls);
  for (uint32_t i = 0; i < rows; i += 8) {
    if (!are_listed) {
      out[i / 8] = bits_of_flags(is_null + i);
      continue;
    }
    for (uint64_t eight = vector_eight_flags(is_null + i); eight != 0; out += sizeof(uint16_t)) {
      uint16_t row = (uint16_t)(i + vector_next_flag(&eight));
      memcpy(out, &row, sizeof(row));
    }
  }
}

void vector_nulls_get(const vector_kernels *kernels, const unsigned char *from, uint32_t rows,
                      uint32_t nulls, uint8_t *is_null) {
  if (!vector_nulls_are_listed(rows, nulls)) {
    kernels->expand(from, rows, is_null);
    return;
  }
  const uint16_t *list = (const uint16_t *)(const void *)from;
  memset(is_null, 0, rows);
  for (uint32_t i = 0; i < nulls; i++) {
    if (list[i] < rows) {
      is_null[list[i]] = 1;
    }
  }
}

void vector_nulls_find(const unsigned char *list, uint32_t nulls, const uint16_t *rows,
                       uint32_t count, uint8_t *is_null) {
  const uint16_t *row = (const uint16_t *)(const void *)list;
  for (uint32_t i = 0, next = 0; i < count; i++) {
    while (next < nulls && row[next] < rows[i]) {
      next++;
    }
    is_null[i] = next < nulls && row[next] == rows[i];
  }
}
