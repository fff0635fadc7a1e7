/* What goes into a vector chunk comes out of it: all kinds, encodings, lengths and null counts,
 * whole zones and selected rows, in one piece and in several. */
#include "vector_model.h"

#include <errno.h>

static uint64_t seen[6];             /* zones of each encoding */
static uint64_t seen_packed_runs[2]; /* of numbers, of codes */

static bool is_same_row(const column *c, uint32_t row, const unsigned char *value, int64_t address,
                        int32_t length) {
  if (c->kind == OAP_BYTES) {
    return length == c->lengths[row] &&
           memcmp((const void *)(uintptr_t)address, (const void *)(uintptr_t)c->addresses[row],
                  (size_t)length) == 0;
  }
  unsigned size = column_size(c->kind);
  return memcmp(value, c->values + (size_t)row * size, size) == 0;
}

/* Unpacks rows of a zone, or all, to memory that has no room for more, and compares. */
static void unpack(const column *c, oap_vector *v, uint32_t zone, const uint16_t *rows,
                   uint32_t count) {
  uint32_t from = zone * OAP_ZONE_ROWS;
  unsigned size = column_size(c->kind);
  unsigned char *values = malloc((size_t)count * size + 1);
  int64_t *addresses = malloc(count * sizeof(*addresses) + 1);
  int32_t *lengths = malloc(count * sizeof(*lengths) + 1);
  uint8_t *nulls = malloc(count + 1);
  int null_count = c->kind == OAP_BYTES
                       ? oap_vector_unpack_bytes(v, zone, rows, count, addresses, lengths, nulls)
                       : oap_vector_unpack(v, zone, rows, count, values, nulls);
  CHECK(null_count >= 0);
  int expected_nulls = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = from + (rows == NULL ? i : rows[i]);
    CHECK(nulls[i] == c->nulls[row]);
    expected_nulls += nulls[i];
    CHECK(nulls[i] ||
          is_same_row(c, row, values + (size_t)i * size, c->kind == OAP_BYTES ? addresses[i] : 0,
                      c->kind == OAP_BYTES ? lengths[i] : 0));
  }
  CHECK(null_count == expected_nulls);
  free(values);
  free(addresses);
  free(lengths);
  free(nulls);
}

static void check_wrong_calls(const column *c, oap_vector *v, uint32_t zones) {
  uint64_t values[1];
  int64_t address[1];
  int32_t length[1];
  oap_zone zone;
  uint16_t beyond = OAP_ZONE_ROWS;
  CHECK(oap_vector_zone(v, zones, &zone) == -EINVAL);
  CHECK(oap_vector_unpack(v, zones, &beyond, 1, values, NULL) == -EINVAL);
  if (zones > 0) {
    CHECK(oap_vector_unpack(v, 0, &beyond, 1, values, NULL) == -EINVAL);
    CHECK(oap_vector_unpack_bytes(v, 0, &beyond, 1, address, length, NULL) == -EINVAL);
  }
  CHECK(c->kind == OAP_BYTES ? oap_vector_dictionary(v, values) == -EINVAL
                             : oap_vector_dictionary_bytes(v, address, length) == -EINVAL);
}

static void round_trip(uint64_t *random, enum oap_kind kind, uint32_t rows) {
  column c = column_random(random, kind, rows);
  chunk bytes = chunk_encode(random, &c, 1 + (uint32_t)random_below(random, 4));
  oap_vector *v;
  CHECK(chunk_open(&bytes, &v) == 0);
  CHECK(oap_vector_kind(v) == kind && oap_vector_rows(v) == rows);
  uint32_t zones = (rows + OAP_ZONE_ROWS - 1) / OAP_ZONE_ROWS;
  CHECK(oap_vector_zones(v) == zones);
  for (uint32_t i = 0; i < zones; i++) {
    oap_zone zone;
    CHECK(oap_vector_zone(v, i, &zone) == 0);
    CHECK(zone.rows == (i + 1 < zones ? OAP_ZONE_ROWS : rows - i * OAP_ZONE_ROWS));
    CHECK(zone.bytes <= zone.rows * (uint64_t)(column_size(kind) + 48) + 1024);
    seen[zone.encoding]++;
    seen_packed_runs[kind == OAP_BYTES] += zone.encoding == OAP_RUNS && zone.width > 0;
    unpack(&c, v, i, NULL, zone.rows);
    uint16_t selection[OAP_ZONE_ROWS];
    uint32_t count = selection_random(random, zone.rows, selection);
    unpack(&c, v, i, selection, count);
  }
  if (rows % OAP_ZONE_ROWS != 0 || zones > 1) {
    check_wrong_calls(&c, v, zones);
  }
  oap_vector_close(v);
  chunk_free(&bytes);
  column_free(&c);
}

static uint64_t zones_by_id;

/* An encoder that gets numbers of entries makes the chunk that values would have made. */
static void same_from_ids(uint64_t *random, enum oap_kind kind, uint32_t rows) {
  uint32_t entries = 1 + (uint32_t)random_below(random, random_below(random, 2) ? 60000 : 500);
  column told = column_random(random, kind, entries), c = column_random(random, kind, rows);
  unsigned size = column_size(kind);
  uint32_t *ids = malloc((size_t)rows * sizeof(*ids) + 1);
  bool *is_told = calloc(entries, sizeof(*is_told));
  unsigned learned = 0;
  bool has_told = false;
  for (uint32_t i = 0; i < rows; i++) {
    ids[i] = c.nulls[i] ? (uint32_t)random_next(random) : (uint32_t)random_below(random, entries);
    uint32_t id = c.nulls[i] ? 0 : ids[i];
    if (kind == OAP_BYTES) {
      c.addresses[i] = told.addresses[id];
      c.lengths[i] = told.lengths[id];
    } else {
      memcpy(c.values + (size_t)i * size, told.values + (size_t)id * size, size);
    }
  }
  oap_vector_encoder *by_id, *by_value;
  CHECK(oap_vector_encoder_open(kind, &by_id) == 0);
  CHECK(oap_vector_encoder_open(kind, &by_value) == 0);
  for (uint32_t from = 0; from < rows; from += OAP_ZONE_ROWS) {
    uint32_t count = rows - from < OAP_ZONE_ROWS ? rows - from : OAP_ZONE_ROWS;
    column_add(&c, by_value, from, count);
    int result = oap_vector_encoder_add_ids(by_id, ids + from, c.nulls + from, count);
    bool is_known = true;
    for (uint32_t row = from; row < from + count; row++) {
      is_known = is_known && (c.nulls[row] || is_told[ids[row]]);
    }
    if (result == 1) {
      CHECK(!is_known || !has_told || learned == 16);
      oap_vector_encoder_learn(by_id, ids + from);
      column_add(&c, by_id, from, count);
      for (uint32_t row = from; row < from + count; row++) {
        is_told[ids[row] % entries] |= !c.nulls[row];
        has_told |= !c.nulls[row];
      }
      learned += learned < 16;
    } else {
      CHECK(result == 0 && is_known);
      zones_by_id++;
    }
  }
  uint64_t bytes, expected;
  CHECK(oap_vector_encoder_finish(by_value, &expected) == 0);
  CHECK(oap_vector_encoder_finish(by_id, &bytes) == 0 && bytes == expected);
  unsigned char *a = malloc(bytes), *b = malloc(bytes);
  CHECK(oap_vector_encoder_write(by_id, &a, &bytes, 1) == 0);
  CHECK(oap_vector_encoder_write(by_value, &b, &bytes, 1) == 0);
  CHECK(memcmp(a, b, bytes) == 0);
  free(a);
  free(b);
  oap_vector_encoder_close(by_id);
  oap_vector_encoder_close(by_value);
  free(ids);
  free(is_told);
  column_free(&told);
  column_free(&c);
}

static void refuse_wrong_zones(void) {
  static const int32_t values[OAP_ZONE_ROWS];
  oap_vector_encoder *e;
  uint64_t bytes;
  CHECK(oap_vector_encoder_open((enum oap_kind)0, &e) == -EINVAL);
  CHECK(oap_vector_encoder_open((enum oap_kind)8, &e) == -EINVAL);
  CHECK(oap_vector_encoder_open(OAP_I32, &e) == 0);
  CHECK(oap_vector_encoder_add(e, values, NULL, 0) == -EINVAL);
  oap_vector_encoder_close(e);
  CHECK(oap_vector_encoder_open(OAP_I32, &e) == 0);
  CHECK(oap_vector_encoder_add(e, values, NULL, 5) == 0);
  CHECK(oap_vector_encoder_add(e, values, NULL, 5) == -EINVAL); /* after a short one */
  CHECK(oap_vector_encoder_finish(e, &bytes) == -EINVAL);
  oap_vector_encoder_close(e);
  CHECK(oap_vector_encoder_open(OAP_BYTES, &e) == 0);
  CHECK(oap_vector_encoder_add(e, values, NULL, 5) == -EINVAL);
  oap_vector_encoder_close(e);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  static const uint32_t lengths[] = {0,   1,   2,    63,   64,   65,   511,  512,
                                     513, 600, 4095, 4096, 4097, 8192, 9000, 20000};
  refuse_wrong_zones();
  for (uint64_t run = 0, runs = check_runs(12); run < runs; run++) {
    for (int kind = OAP_I8; kind <= OAP_BYTES; kind++) {
      for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        round_trip(&random, (enum oap_kind)kind, lengths[i]);
      }
      same_from_ids(&random, (enum oap_kind)kind, (uint32_t)random_below(&random, 90000));
    }
    round_trip(&random, (enum oap_kind)(1 + run % 7), 100000 + (uint32_t)(run % 5) * 4096);
  }
  CHECK(zones_by_id > 0);
  for (int encoding = 0; encoding < 6; encoding++) {
    CHECK(seen[encoding] > 0);
  }
  CHECK(check_runs(12) < 12 || (seen_packed_runs[0] > 0 && seen_packed_runs[1] > 0));
  return 0;
}
