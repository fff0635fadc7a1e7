/* A reader over rows that were decoded elsewhere, so that they are filtered as chunks are: one zone
 * of plain values, of which nothing else is known. */
#include "vector_nulls.h"
#include "vector_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define BITMAP_BYTES (OAP_ZONE_ROWS / 8)

typedef struct decoded {
  oap_vector reader; /* first: closing it frees all */
  vector_zone head;
  _Alignas(VECTOR_ALIGNMENT) unsigned char payload[BITMAP_BYTES + OAP_ZONE_ROWS * sizeof(int64_t)];
} decoded;

static int64_t bits_of(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/* Every value of the kind lies between these. */
static void bound_kind(enum oap_kind kind, vector_zone *head) {
  if (vector_is_float(kind)) {
    head->minimum = bits_of(-(double)INFINITY);
    head->maximum = bits_of((double)NAN);
  } else {
    head->maximum = INT64_MAX >> (64 - (8 << vector_shift(kind)));
    head->minimum = -head->maximum - 1;
  }
}

int oap_vector_open_decoded(enum oap_kind kind, oap_vector **out) {
  if (kind < OAP_I8 || kind >= OAP_BYTES) {
    return -EINVAL;
  }
  decoded *d = aligned_alloc(_Alignof(decoded), sizeof(*d));
  if (d == NULL) {
    return -ENOMEM;
  }
  memset(&d->reader, 0, offsetof(oap_vector, values));
  memset(&d->head, 0, sizeof(d->head));
  d->reader.kernels = vector_kernels_best();
  d->reader.kind = kind;
  d->reader.is_decoded = true;
  d->reader.zone = &d->head;
  d->reader.pieces = 1;
  d->reader.piece[0] = d->payload;
  d->reader.piece_start[1] = sizeof(d->payload);
  bound_kind(kind, &d->head);
  *out = &d->reader;
  return 0;
}

/* Writes which rows are null, and returns how many are. */
static uint16_t take_nulls(oap_vector *v, const uint8_t *nulls, uint32_t rows, unsigned char *out) {
  memset(v->nulls + rows, 0, -rows % 8);
  uint32_t count = v->kernels->flags(nulls, rows, v->nulls);
  if (count < rows) {
    vector_nulls_put(v->nulls, rows, count, out);
  }
  return (uint16_t)count;
}

int oap_vector_set_decoded(oap_vector *v, const void *values, const uint8_t *nulls, uint32_t rows) {
  if (!v->is_decoded || rows < 1 || rows > OAP_ZONE_ROWS) {
    return -EINVAL;
  }
  decoded *d = (decoded *)(void *)v;
  vector_zone *head = &d->head;
  head->rows = (uint16_t)rows;
  head->nulls = nulls == NULL ? 0 : take_nulls(v, nulls, rows, d->payload);
  head->encoding = head->nulls == rows ? OAP_CONSTANT : OAP_PLAIN;
  head->bytes = 0;
  if (head->nulls < rows) {
    uint64_t before = vector_nulls_bytes(rows, head->nulls);
    uint64_t bytes = (uint64_t)rows << vector_shift(v->kind);
    memcpy(d->payload + before, values, bytes);
    head->bytes = (uint32_t)(before + bytes);
  }
  v->rows = rows;
  v->zones = 1;
  return 0;
}
