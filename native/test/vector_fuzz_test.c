/* Damaged chunks: whatever the bytes are, opening, unpacking and filtering end with an answer or
 * EBADMSG and touch nothing outside of the pieces, which a sanitizer watches. */
#include "vector/vector_format.h"
#include "vector_model.h"

#include <errno.h>

static volatile uint64_t sink;
static uint64_t opened, refused_late;

/* Each piece in memory of its own that is exactly as long. */
static chunk copy_of(const chunk *c, uint64_t cut_off) {
  chunk copy = *c;
  copy.memory = NULL;
  for (uint32_t i = 0; i < c->pieces; i++) {
    void *data;
    CHECK(posix_memalign(&data, 64, c->piece_bytes[i]) == 0);
    memcpy(data, c->piece[i], c->piece_bytes[i]);
    copy.piece[i] = data;
  }
  uint64_t *last = &copy.piece_bytes[c->pieces - 1];
  if (cut_off > 0) {
    *last -= cut_off < *last ? cut_off : *last;
    void *data;
    CHECK(posix_memalign(&data, 64, *last == 0 ? 1 : *last) == 0);
    memcpy(data, copy.piece[c->pieces - 1], *last);
    free(copy.piece[c->pieces - 1]);
    copy.piece[c->pieces - 1] = data;
  }
  return copy;
}

static unsigned char *byte_at(const chunk *c, uint64_t offset) {
  uint32_t i = 0;
  while (offset >= c->piece_bytes[i]) {
    offset -= c->piece_bytes[i++];
  }
  return c->piece[i] + offset;
}

/* A field of a header or a zone gets a number that is wrong by little, by much, or extreme. */
static void damage_field(uint64_t *random, const chunk *c, uint32_t zones) {
  static const uint8_t places[][2] = {{0, 8},  {8, 4},  {12, 2}, {14, 2}, {16, 1}, {17, 1},
                                      {20, 4}, {24, 8}, {32, 8}, {40, 8}, {48, 8}};
  uint64_t part = random_below(random, zones + 1) * 64;
  const uint8_t *place = places[random_below(random, sizeof(places) / sizeof(places[0]))];
  uint64_t value = 0, kinds = random_below(random, 4);
  for (unsigned i = 0; i < place[1]; i++) {
    value |= (uint64_t)*byte_at(c, part + place[0] + i) << 8 * i;
  }
  value = kinds == 0   ? value + random_below(random, 5) - 2
          : kinds == 1 ? random_next(random) >> random_below(random, 64)
          : kinds == 2 ? UINT64_MAX - random_below(random, 2)
                       : value ^ UINT64_C(1) << random_below(random, 64);
  for (unsigned i = 0; i < place[1]; i++) {
    *byte_at(c, part + place[0] + i) = (unsigned char)(value >> 8 * i);
  }
}

static void damage(uint64_t *random, const chunk *c, uint32_t zones) {
  for (uint64_t n = 1 + random_below(random, 3); n > 0; n--) {
    if (random_below(random, 3) > 0) {
      damage_field(random, c, zones);
    } else {
      uint64_t at = random_below(random, c->bytes);
      for (uint64_t i = random_below(random, 40) + 1; i > 0 && at < c->bytes; i--, at++) {
        *byte_at(c, at) = (unsigned char)random_next(random);
      }
    }
  }
}

static void ended(int result) {
  CHECK(result >= 0 || result == -EBADMSG || result == -EINVAL);
  refused_late += result == -EBADMSG;
}

static void read_bytes(oap_vector *v, uint32_t zone, const uint16_t *rows, uint32_t count) {
  int64_t addresses[OAP_ZONE_ROWS];
  int32_t lengths[OAP_ZONE_ROWS];
  uint8_t nulls[OAP_ZONE_ROWS];
  int result = oap_vector_unpack_bytes(v, zone, rows, count, addresses, lengths, nulls);
  ended(result);
  for (uint32_t i = 0; i < count && result >= 0; i++) {
    const unsigned char *data = (const unsigned char *)(uintptr_t)addresses[i];
    sink += lengths[i] > 0 ? data[0] + data[lengths[i] - 1] : 0;
  }
}

static void read_zone(uint64_t *random, oap_vector *v, uint32_t zone, const oap_key_set *set) {
  oap_zone z;
  CHECK(oap_vector_zone(v, zone, &z) == 0);
  uint16_t rows[OAP_ZONE_ROWS], out[OAP_ZONE_ROWS];
  uint64_t values[OAP_ZONE_ROWS];
  uint8_t nulls[OAP_ZONE_ROWS];
  uint32_t count = selection_random(random, z.rows, rows);
  read_bytes(v, zone, NULL, z.rows);
  read_bytes(v, zone, rows, count);
  ended(oap_vector_unpack(v, zone, NULL, 0, values, nulls));
  ended(oap_vector_unpack(v, zone, rows, count, values, nulls));
  ended(oap_vector_decide_in(v, zone, set));
  ended(oap_vector_select_in(v, zone, set, NULL, 0, out));
  ended(oap_vector_select_in(v, zone, set, rows, count, out));
  ended(oap_vector_select_range(v, zone, z.minimum / 2, z.maximum, NULL, 0, out));
  oap_double_range range = {.low = -1e100, .high = 1e100};
  ended(oap_vector_select_double_range(v, zone, &range, rows, count, out));
  ended(oap_vector_select_null(v, zone, true, NULL, 0, out));
  uint8_t *matches = calloc(oap_vector_dictionary_entries(v) + 1, 1);
  ended(oap_vector_select_codes(v, zone, matches, rows, count, out));
  free(matches);
}

static void read_all(uint64_t *random, const chunk *c, const oap_key_set *set) {
  oap_vector *v;
  int result = chunk_open(c, &v);
  if (result != 0) {
    CHECK(result == -EBADMSG || result == -EINVAL);
    return;
  }
  opened++;
  for (uint32_t zone = 0; zone < oap_vector_zones(v); zone++) {
    read_zone(random, v, zone, set);
  }
  uint32_t entries = oap_vector_dictionary_entries(v);
  if (oap_vector_kind(v) == OAP_BYTES) {
    int64_t *addresses = malloc(entries * sizeof(*addresses) + 1);
    int32_t *lengths = malloc(entries * sizeof(*lengths) + 1);
    CHECK(oap_vector_dictionary_bytes(v, addresses, lengths) == 0);
    for (uint32_t i = 0; i < entries; i++) {
      const unsigned char *data = (const unsigned char *)(uintptr_t)addresses[i];
      sink += lengths[i] > 0 ? data[0] + data[lengths[i] - 1] : 0;
    }
    free(addresses);
    free(lengths);
  }
  oap_vector_close(v);
}

/* Keys that are in the column, so that bitmaps and tables are looked into. */
static oap_key_set *keys_of(uint64_t *random, const column *c) {
  int64_t keys[100];
  uint64_t count = c->kind > OAP_I64 ? 0 : random_below(random, 100);
  for (uint64_t i = 0; i < count; i++) {
    keys[i] = column_integer(c, (uint32_t)random_below(random, c->rows));
  }
  oap_key_set *set;
  CHECK(oap_key_set_open(keys, count, &set) == 0);
  return set;
}

static void fuzz(uint64_t *random, enum oap_kind kind) {
  column c = column_random(random, kind, 1 + (uint32_t)random_below(random, 15000));
  uint32_t zones = (c.rows + OAP_ZONE_ROWS - 1) / OAP_ZONE_ROWS;
  chunk whole = chunk_encode(random, &c, 1 + (uint32_t)random_below(random, 4));
  oap_key_set *set = keys_of(random, &c);
  for (int i = 0; i < 40; i++) {
    chunk copy = copy_of(&whole, 0);
    damage(random, &copy, zones);
    if (i % 8 == 0) {
      chunk shorter = copy_of(&copy, 1 + random_below(random, 200));
      read_all(random, &shorter, set);
      for (uint32_t p = 0; p < shorter.pieces; p++) {
        free(shorter.piece[p]);
      }
    }
    read_all(random, &copy, set);
    for (uint32_t p = 0; p < copy.pieces; p++) {
      free(copy.piece[p]);
    }
  }
  oap_key_set_close(set);
  chunk_free(&whole);
  column_free(&c);
}

/* Opens a chunk with one byte changed, and reads its first zone of BYTES if that is asked for. */
static int open_changed(const chunk *whole, uint64_t offset, unsigned char byte, bool is_read) {
  chunk copy = copy_of(whole, 0);
  *byte_at(&copy, offset) = byte;
  oap_vector *v = NULL;
  int result = chunk_open(&copy, &v);
  if (result == 0 && is_read) {
    int64_t addresses[OAP_ZONE_ROWS];
    int32_t lengths[OAP_ZONE_ROWS];
    result = oap_vector_unpack_bytes(v, 0, NULL, 0, addresses, lengths, NULL);
  }
  oap_vector_close(v);
  free(copy.piece[0]);
  return result;
}

#define RUN_NUMBERS 50

/* Packed runs of a kind that has fewer bits than their width. All else of the chunk is as it should
 * be. */
static void refuse_wide_runs(uint64_t *random, enum oap_kind kind, uint8_t width,
                             enum oap_kind narrow) {
  static unsigned char values[OAP_ZONE_ROWS * sizeof(int64_t)];
  static uint8_t nulls[OAP_ZONE_ROWS];
  uint64_t value = 0;
  for (uint32_t row = 0; row < OAP_ZONE_ROWS; row++) {
    value = row % 4 == 0 ? random_below(random, UINT64_C(1) << width) : value;
    if (kind == OAP_I64) {
      ((int64_t *)(void *)values)[row] = (int64_t)value;
    } else {
      ((int32_t *)(void *)values)[row] = (int32_t)value;
    }
  }
  column c = {.kind = kind, .rows = OAP_ZONE_ROWS, .values = values, .nulls = nulls};
  chunk wide = chunk_encode(random, &c, 1);
  CHECK(*byte_at(&wide, 64 + 16) == OAP_RUNS && *byte_at(&wide, 64 + 17) == width);
  CHECK(open_changed(&wide, 6, (uint8_t)narrow, false) == -EBADMSG);
  chunk_free(&wide);
}

/* Heads of packed runs that no chunk may have. */
static void refuse_wrong_runs(uint64_t *random) {
  enum { KIND = 6, WIDTH = 64 + 17, REFERENCE = 64 + 24 };
  static int64_t numbers[RUN_NUMBERS], addresses[OAP_ZONE_ROWS];
  static int32_t values[OAP_ZONE_ROWS], lengths[OAP_ZONE_ROWS];
  static uint8_t nulls[OAP_ZONE_ROWS];
  for (uint32_t row = 0; row < OAP_ZONE_ROWS; row++) {
    values[row] = (int32_t)(row / 10 % RUN_NUMBERS);
    numbers[values[row]] = values[row];
    addresses[row] = (int64_t)(uintptr_t)&numbers[values[row]];
    lengths[row] = sizeof(numbers[0]);
  }
  column c = {.kind = OAP_I32,
              .rows = OAP_ZONE_ROWS,
              .values = (unsigned char *)values,
              .addresses = addresses,
              .lengths = lengths,
              .nulls = nulls};
  chunk integers = chunk_encode(random, &c, 1);
  CHECK(*byte_at(&integers, 64 + 16) == OAP_RUNS && *byte_at(&integers, WIDTH) == 6);
  CHECK(open_changed(&integers, KIND, OAP_I32, false) == 0);
  CHECK(open_changed(&integers, KIND, OAP_I64, false) == 0); /* packed values fit either */
  CHECK(open_changed(&integers, KIND, OAP_F32, false) == -EBADMSG);
  CHECK(open_changed(&integers, WIDTH, 0, false) == -EBADMSG);
  CHECK(open_changed(&integers, WIDTH, 7, false) == -EBADMSG);
  CHECK(open_changed(&integers, WIDTH, 33, false) == -EBADMSG);
  chunk_free(&integers);
  c.kind = OAP_BYTES;
  chunk codes = chunk_encode(random, &c, 1);
  CHECK(*byte_at(&codes, 64 + 16) == OAP_RUNS && *byte_at(&codes, WIDTH) == 6);
  CHECK(open_changed(&codes, REFERENCE, 0, true) == 0);
  CHECK(open_changed(&codes, REFERENCE, RUN_NUMBERS, false) == -EBADMSG);
  CHECK(open_changed(&codes, REFERENCE, RUN_NUMBERS - 1, false) == 0);
  CHECK(open_changed(&codes, REFERENCE, RUN_NUMBERS - 1, true) == -EBADMSG); /* a code too large */
  chunk_free(&codes);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  refuse_wrong_runs(&random);
  refuse_wide_runs(&random, OAP_I32, 17, OAP_I16);
  refuse_wide_runs(&random, OAP_I64, 40, OAP_I32);
  for (uint64_t run = 0, runs = check_runs(12); run < runs; run++) {
    for (int kind = OAP_I8; kind <= OAP_BYTES; kind++) {
      fuzz(&random, (enum oap_kind)kind);
    }
  }
  CHECK(check_runs(12) < 12 || (opened > 0 && refused_late > 0));
  return 0;
}
