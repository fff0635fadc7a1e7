/* Filters over vector chunks against a naive loop: sets, ranges, floating-point ranges, dictionary
 * codes and nulls, over all rows and over selections; and what a zone decides by itself. */
#include "vector/vector_order.h"
#include "vector_model.h"

#include <errno.h>

typedef struct question {
  const column *c;
  uint32_t from; /* first row of the zone */
  const oap_key_set *set;
  const int64_t *keys;
  uint64_t key_count;
  int64_t low;
  int64_t high;
  const oap_double_range *range;
  int is_null; /* -1: not asked */
} question;

/* Written from Spark's rules and not like the code under test. */
static int spark_compare(double a, double b) {
  if (a != a || b != b) {
    return (a != a) - (b != b);
  }
  return (a > b) - (a < b);
}

static bool matches(const question *q, uint32_t row) {
  uint32_t r = q->from + row;
  if (q->is_null >= 0) {
    return q->c->nulls[r] == q->is_null;
  }
  if (q->c->nulls[r]) {
    return false;
  }
  if (q->range != NULL) {
    double value = column_double(q->c, r);
    int low = spark_compare(value, q->range->low), high = spark_compare(value, q->range->high);
    return (q->range->low_is_open ? low > 0 : low >= 0) &&
           (q->range->high_is_open ? high < 0 : high <= 0);
  }
  int64_t value = column_integer(q->c, r);
  if (q->set == NULL) {
    return q->low <= value && value <= q->high;
  }
  for (uint64_t i = 0; i < q->key_count; i++) {
    if (q->keys[i] == value) {
      return true;
    }
  }
  return false;
}

static int ask(const question *q, oap_vector *v, uint32_t zone, const uint16_t *rows,
               uint32_t count, uint16_t *out) {
  if (q->is_null >= 0) {
    return oap_vector_select_null(v, zone, q->is_null == 1, rows, count, out);
  }
  if (q->range != NULL) {
    return oap_vector_select_double_range(v, zone, q->range, rows, count, out);
  }
  return q->set != NULL ? oap_vector_select_in(v, zone, q->set, rows, count, out)
                        : oap_vector_select_range(v, zone, q->low, q->high, rows, count, out);
}

static int decide(const question *q, oap_vector *v, uint32_t zone) {
  if (q->range != NULL) {
    return oap_vector_decide_double_range(v, zone, q->range);
  }
  return q->set != NULL ? oap_vector_decide_in(v, zone, q->set)
                        : oap_vector_decide_range(v, zone, q->low, q->high);
}

static void verify(const question *q, const uint16_t *rows, uint32_t count, const uint16_t *found,
                   int found_count) {
  int expected = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = rows == NULL ? i : rows[i];
    if (matches(q, row)) {
      CHECK(expected < found_count && found[expected] == row);
      expected++;
    }
  }
  CHECK(expected == found_count);
}

static void check_question(uint64_t *random, const question *q, oap_vector *v, uint32_t zone) {
  oap_zone z;
  CHECK(oap_vector_zone(v, zone, &z) == 0);
  uint16_t *out = malloc(z.rows * sizeof(*out));
  int found = ask(q, v, zone, NULL, 0, out);
  verify(q, NULL, z.rows, out, found);
  if (q->is_null < 0) {
    int decision = decide(q, v, zone);
    CHECK(decision == OAP_SOME || found == (decision == OAP_ALL ? (int)z.rows : 0));
  }
  free(out);
  uint16_t rows[OAP_ZONE_ROWS], copy[OAP_ZONE_ROWS];
  uint32_t count = selection_random(random, z.rows, rows);
  memcpy(copy, rows, sizeof(rows));
  found = ask(q, v, zone, copy, count, copy); /* in place */
  verify(q, rows, count, copy, found);
}

/* A number that is likely to be near values of the zone. */
static int64_t random_number(uint64_t *random, const column *c, uint32_t from, uint32_t rows) {
  uint32_t row = from + (uint32_t)random_below(random, rows);
  int64_t number = column_integer(c, row);
  switch (random_below(random, 4)) {
  case 0:
    return (int64_t)random_next(random);
  case 1:
    return (int64_t)((uint64_t)number + random_below(random, 7) - 3);
  default:
    return number;
  }
}

static void ask_integers(uint64_t *random, const column *c, oap_vector *v, uint32_t zone,
                         uint32_t rows) {
  question q = {.c = c, .from = zone * OAP_ZONE_ROWS, .is_null = -1};
  int64_t keys[300];
  q.keys = keys;
  q.key_count = random_below(random, 4) == 0 ? random_below(random, 3) : random_below(random, 300);
  uint64_t start = (uint64_t)random_number(random, c, q.from, rows);
  bool is_row = random_below(random, 3) == 0; /* without gaps */
  for (uint64_t i = 0; i < q.key_count; i++) {
    keys[i] = is_row ? (int64_t)(start + i) : random_number(random, c, q.from, rows);
  }
  oap_key_set *set;
  CHECK(oap_key_set_open(keys, q.key_count, &set) == 0);
  q.set = set;
  check_question(random, &q, v, zone);
  for (uint64_t i = 0; i < q.key_count; i++) {
    CHECK(oap_key_set_meets(set, keys[i], keys[i]));
  }
  oap_key_set_close(set);
  q.set = NULL;
  q.low = random_below(random, 5) == 0 ? INT64_MIN : random_number(random, c, q.from, rows);
  q.high = random_below(random, 5) == 0 ? INT64_MAX : random_number(random, c, q.from, rows);
  check_question(random, &q, v, zone);
}

static void ask_doubles(uint64_t *random, const column *c, oap_vector *v, uint32_t zone,
                        uint32_t rows) {
  static const double special[] = {0.0, -0.0, __builtin_inf(), -__builtin_inf(), __builtin_nan(""),
                                   1.0};
  double ends[2];
  for (int i = 0; i < 2; i++) {
    ends[i] = random_below(random, 3) == 0
                  ? special[random_below(random, 6)]
                  : column_double(c, zone * OAP_ZONE_ROWS + (uint32_t)random_below(random, rows));
  }
  oap_double_range range = {.low = ends[0],
                            .high = ends[1],
                            .low_is_open = random_below(random, 2) == 0,
                            .high_is_open = random_below(random, 2) == 0};
  question q = {.c = c, .from = zone * OAP_ZONE_ROWS, .range = &range, .is_null = -1};
  check_question(random, &q, v, zone);
}

static uint64_t prefix_of(const column *c, uint32_t row) {
  uint64_t prefix = 0;
  for (int i = 0; i < 8; i++) {
    const unsigned char *data = (const unsigned char *)(uintptr_t)c->addresses[row];
    prefix = prefix << 8 | (i < c->lengths[row] ? data[i] : 0);
  }
  return prefix;
}

static void ask_prefixes(uint64_t *random, const column *c, oap_vector *v, uint32_t zone,
                         uint32_t rows) {
  uint32_t from = zone * OAP_ZONE_ROWS;
  uint64_t low = prefix_of(c, from + (uint32_t)random_below(random, rows));
  uint64_t high = random_below(random, 2) == 0
                      ? low
                      : prefix_of(c, from + (uint32_t)random_below(random, rows));
  uint32_t found = 0;
  for (uint32_t row = from; row < from + rows; row++) {
    uint64_t prefix = prefix_of(c, row);
    found += !c->nulls[row] && low <= prefix && prefix <= high;
  }
  int decision = oap_vector_decide_prefix(v, zone, low, high);
  CHECK(decision == OAP_SOME || found == (decision == OAP_ALL ? rows : 0));
}

/* Entries with an even hash of their bytes match. */
static bool is_even(const void *data, size_t length) {
  uint64_t hash = length;
  for (size_t i = 0; i < length; i++) {
    hash = hash * 31 + ((const unsigned char *)data)[i];
  }
  return hash % 2 == 0;
}

static void ask_codes(const column *c, oap_vector *v, uint32_t zone, uint32_t rows) {
  uint32_t entries = oap_vector_dictionary_entries(v);
  uint8_t *matching = malloc(entries + 1);
  uint16_t out[OAP_ZONE_ROWS];
  if (oap_vector_has_codes(v, zone) != 1) {
    CHECK(oap_vector_select_codes(v, zone, matching, NULL, 0, out) == -EINVAL);
    free(matching);
    return;
  }
  int64_t *addresses = malloc(entries * sizeof(*addresses));
  int32_t *lengths = malloc(entries * sizeof(*lengths));
  unsigned size = column_size(c->kind);
  unsigned char *values = malloc((size_t)entries * size + 1);
  CHECK((c->kind == OAP_BYTES ? oap_vector_dictionary_bytes(v, addresses, lengths)
                              : oap_vector_dictionary(v, values)) == 0);
  for (uint32_t i = 0; i < entries; i++) {
    matching[i] = c->kind == OAP_BYTES
                      ? is_even((void *)(uintptr_t)addresses[i], (size_t)lengths[i])
                      : is_even(values + (size_t)i * size, size);
    matching[i] = (uint8_t)(matching[i] * 0x10); /* any number that is not 0 */
  }
  int found = oap_vector_select_codes(v, zone, matching, NULL, 0, out), expected = 0;
  for (uint32_t row = 0; row < rows; row++) {
    uint32_t r = zone * OAP_ZONE_ROWS + row;
    bool is_match = c->kind == OAP_BYTES
                        ? is_even((void *)(uintptr_t)c->addresses[r], (size_t)c->lengths[r])
                        : is_even(c->values + (size_t)r * size, size);
    if (!c->nulls[r] && is_match) {
      CHECK(expected < found && out[expected] == row);
      expected++;
    }
  }
  CHECK(expected == found);
  free(matching);
  free(addresses);
  free(lengths);
  free(values);
}

static void select_all(uint64_t *random, enum oap_kind kind, uint32_t rows) {
  column c = column_random(random, kind, rows);
  chunk bytes = chunk_encode(random, &c, 1 + (uint32_t)random_below(random, 4));
  oap_vector *v;
  CHECK(chunk_open(&bytes, &v) == 0);
  for (uint32_t zone = 0; zone < oap_vector_zones(v); zone++) {
    uint32_t left = rows - zone * OAP_ZONE_ROWS;
    uint32_t zone_rows = left < OAP_ZONE_ROWS ? left : OAP_ZONE_ROWS;
    question q = {.c = &c, .from = zone * OAP_ZONE_ROWS};
    check_question(random, &q, v, zone);
    q.is_null = 1;
    check_question(random, &q, v, zone);
    for (int i = 0; i < 3; i++) {
      if (kind == OAP_BYTES) {
        ask_prefixes(random, &c, v, zone, zone_rows);
      } else if (kind == OAP_F32 || kind == OAP_F64) {
        ask_doubles(random, &c, v, zone, zone_rows);
      } else {
        ask_integers(random, &c, v, zone, zone_rows);
      }
    }
    ask_codes(&c, v, zone, zone_rows);
  }
  oap_vector_close(v);
  chunk_free(&bytes);
  column_free(&c);
}

/* Rows that lie in no chunk. A reader takes one set of rows after the other. */
static void select_decoded(uint64_t *random, enum oap_kind kind) {
  oap_vector *v;
  CHECK(oap_vector_open_decoded(kind, &v) == 0);
  CHECK(oap_vector_kind(v) == kind && oap_vector_zones(v) == 0);
  for (int i = 0; i < 20; i++) {
    uint32_t rows = i % 4 == 0 ? OAP_ZONE_ROWS : 1 + (uint32_t)random_below(random, OAP_ZONE_ROWS);
    column c = column_random(random, kind, rows);
    CHECK(oap_vector_set_decoded(v, c.values, c.nulls, rows) == 0);
    CHECK(oap_vector_rows(v) == rows && oap_vector_zones(v) == 1);
    question q = {.c = &c};
    check_question(random, &q, v, 0);
    if (kind == OAP_F32 || kind == OAP_F64) {
      ask_doubles(random, &c, v, 0, rows);
    } else {
      ask_integers(random, &c, v, 0, rows);
    }
    memset(c.nulls, 0, rows);
    CHECK(oap_vector_set_decoded(v, c.values, NULL, rows) == 0);
    check_question(random, &q, v, 0);
    if (kind == OAP_F32 || kind == OAP_F64) {
      ask_doubles(random, &c, v, 0, rows);
    } else {
      ask_integers(random, &c, v, 0, rows);
    }
    CHECK(oap_vector_set_decoded(v, c.values, NULL, 0) == -EINVAL);
    CHECK(oap_vector_set_decoded(v, c.values, NULL, OAP_ZONE_ROWS + 1) == -EINVAL);
    column_free(&c);
  }
  oap_vector_close(v);
}

static void check_decoded_errors(uint64_t *random) {
  oap_vector *v;
  CHECK(oap_vector_open_decoded(OAP_BYTES, &v) == -EINVAL);
  CHECK(oap_vector_open_decoded(0, &v) == -EINVAL);
  column c = column_random(random, OAP_I32, 10);
  chunk bytes = chunk_encode(random, &c, 1);
  CHECK(chunk_open(&bytes, &v) == 0);
  CHECK(oap_vector_set_decoded(v, c.values, c.nulls, 10) == -EINVAL);
  oap_vector_close(v);
  chunk_free(&bytes);
  column_free(&c);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  static const uint32_t lengths[] = {1, 2, 63, 64, 65, 513, 4095, 4096, 13000, 90000};
  check_decoded_errors(&random);
  for (uint64_t run = 0, runs = check_runs(6); run < runs; run++) {
    for (int kind = OAP_I8; kind <= OAP_BYTES; kind++) {
      for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]) - (run % 3 != 0); i++) {
        select_all(&random, (enum oap_kind)kind, lengths[i]);
      }
      if (kind != OAP_BYTES) {
        select_decoded(&random, (enum oap_kind)kind);
      }
    }
  }
  return 0;
}
