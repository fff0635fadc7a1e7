/*
 * Zones of OAP_FREQUENCY, as columns are in which most rows have one value, such as 0: a bitmap of
 * the rows that have another one, and those values packed.
 */
#include "vector_reader.h"

#include <errno.h>

#define WORDS (OAP_ZONE_ROWS / 64)

/* Which rows have a value of their own. */
typedef struct others {
  uint64_t word[WORDS];          /* a bit for each row, none beyond the last */
  uint16_t before[WORDS];        /* how many there are before the word's rows */
  uint64_t value[OAP_ZONE_ROWS]; /* theirs, of the kind's width */
} others;

/* EBADMSG: there are not as many as the zone says. */
static int read_others(const oap_vector *v, const vector_view *view, others *out) {
  const vector_zone *head = view->head;
  uint32_t words = (head->rows + 63U) / 64, found = 0;
  memcpy(out->word, view->data, words * sizeof(*out->word));
  out->word[words - 1] &= UINT64_MAX >> -(unsigned)head->rows % 64;
  for (uint32_t i = 0; i < words; i++) {
    out->before[i] = (uint16_t)found;
    found += (uint32_t)__builtin_popcountll(out->word[i]);
  }
  if (found != head->count) {
    return -EBADMSG;
  }
  const unsigned char *packed = view->data + vector_bitmap_bytes(head->rows);
  v->kernels->unpack[vector_shift(v->kind)](packed, head->width, head->reference, found,
                                            out->value);
  return 0;
}

/* Puts the others between common values that are there already. */
#define SPREAD(bits)                                                                               \
  static void spread##bits(const others *from, uint32_t rows, void *values) {                      \
    const uint##bits##_t *next = (const uint##bits##_t *)(const void *)from->value;                \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < rows; i += 64) {                                                      \
      for (uint64_t word = from->word[i / 64]; word != 0; word &= word - 1) {                      \
        out[i + (uint32_t)__builtin_ctzll(word)] = *next++;                                        \
      }                                                                                            \
    }                                                                                              \
  }

#define PICK(bits)                                                                                 \
  static void pick##bits(const others *from, uint64_t common, const uint16_t *rows,                \
                         uint32_t count, void *values) {                                           \
    const uint##bits##_t *value = (const uint##bits##_t *)(const void *)from->value;               \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < count; i++) {                                                         \
      uint64_t word = from->word[rows[i] / 64], bit = UINT64_C(1) << rows[i] % 64;                 \
      uint32_t place =                                                                             \
          from->before[rows[i] / 64] + (uint32_t)__builtin_popcountll(word & (bit - 1));           \
      out[i] = (word & bit) != 0 ? value[place] : (uint##bits##_t)common;                          \
    }                                                                                              \
  }

SPREAD(8)
SPREAD(16)
SPREAD(32)
SPREAD(64)
PICK(8)
PICK(16)
PICK(32)
PICK(64)

int vector_unpack_frequency(const oap_vector *v, const vector_view *view, const uint16_t *rows,
                            uint32_t count, void *values) {
  static void (*const spread[])(const others *, uint32_t, void *) = {spread8, spread16, spread32,
                                                                     spread64};
  static void (*const pick[])(const others *, uint64_t, const uint16_t *, uint32_t,
                              void *) = {pick8, pick16, pick32, pick64};
  others found;
  int result = read_others(v, view, &found);
  if (result != 0) {
    return result;
  }
  unsigned shift = vector_shift(v->kind);
  if (rows == NULL) {
    vector_fill(shift, view->head->common, count, values);
    spread[shift](&found, count, values);
  } else {
    pick[shift](&found, view->head->common, rows, count, values);
  }
  return 0;
}
