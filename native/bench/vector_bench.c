/*
 * How fast vector chunks are made, unpacked and filtered. Rates are of this thread's processor
 * time, medians of several rounds; memory is what memcpy does from and to the same places in the
 * same run.
 *
 *   unpack   each width, with each set of kernels: a chunk zone by zone into scratch of one zone,
 *            in values per second and as bytes written against memcpy
 *   select   filters over all zones of a chunk, in rows per second
 *   pick     unpacking a part of the rows, in rows of the chunk per second
 *   encode   each encoding, in values per second
 */
#include "measure.h"
#include "oap_vector.h"
#include "vector/vector_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES 1024
#define ROWS (ZONES * OAP_ZONE_ROWS)
#define ROUNDS 7

static uint64_t state = 7;
static uint64_t scratch[OAP_ZONE_ROWS];
static uint8_t nulls[OAP_ZONE_ROWS];
static uint16_t rows_out[OAP_ZONE_ROWS];
static volatile uint64_t sink;

static void fail(const char *what) {
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

static void *memory(size_t bytes) {
  void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (data == NULL) {
    fail("aligned_alloc");
  }
  memset(data, 1, bytes);
  return data;
}

/* Values per second of unpacking all zones. */
static double unpack_rate(const vector_kernels *k, const unsigned char *packed, uint32_t width,
                          unsigned shift) {
  double rates[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double start = cpu_now();
    for (uint32_t zone = 0; zone < ZONES; zone++) {
      k->unpack[shift](packed + (size_t)zone * 512 * width, width, 1000, OAP_ZONE_ROWS, scratch);
      sink += scratch[zone & 255];
    }
    rates[r] = ROWS / (cpu_now() - start);
  }
  return median(rates, ROUNDS);
}

static double copy_rate(const unsigned char *values, unsigned shift) {
  double rates[ROUNDS];
  size_t bytes = (size_t)OAP_ZONE_ROWS << shift;
  for (int r = 0; r < ROUNDS; r++) {
    double start = cpu_now();
    for (uint32_t zone = 0; zone < ZONES; zone++) {
      memcpy(scratch, values + zone * bytes, bytes);
      sink += scratch[zone & 255];
    }
    rates[r] = ROWS / (cpu_now() - start);
  }
  return median(rates, ROUNDS);
}

static void bench_unpack(void) {
  static const uint8_t widths[] = {1,  2,  3,  4,  7,  8,  11, 12, 14, 16,
                                   17, 20, 24, 28, 31, 33, 40, 48, 56, 63};
  unsigned char *packed = memory((size_t)ROWS * 8);
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    uint64_t number = random_next(&state);
    memcpy(packed + i * 8, &number, 8);
  }
  for (unsigned shift = 0; shift < 4; shift++) {
    double copy = copy_rate(packed, shift);
    printf("unpack to %u bytes: memcpy %.2f G values/s\n", 1u << shift, copy / 1e9);
    for (unsigned w = 0; w < sizeof(widths) && widths[w] < 8u << shift; w++) {
      printf("  width %2u:", widths[w]);
      for (unsigned level = 0; vector_kernels_at(level) != NULL; level++) {
        const vector_kernels *k = vector_kernels_at(level);
        double rate = unpack_rate(k, packed, widths[w], shift);
        printf("  %s %.2f G/s (%.2f of memcpy)", k->name, rate / 1e9, rate / copy);
      }
      printf("\n");
    }
  }
  free(packed);
}

typedef struct made {
  unsigned char *data;
  uint64_t bytes;
  oap_vector *vector;
  double rate; /* of encoding */
} made;

static made encode(enum oap_kind kind, const void *values, const uint8_t *null_bytes) {
  static const unsigned sizes[] = {0, 1, 2, 4, 8, 4, 8};
  oap_vector_encoder *e;
  made out;
  double start = cpu_now();
  if (oap_vector_encoder_open(kind, &e) != 0) {
    fail("open");
  }
  for (uint32_t zone = 0; zone < ZONES; zone++) {
    size_t from = (size_t)zone * OAP_ZONE_ROWS;
    if (oap_vector_encoder_add(e, (const char *)values + from * sizes[kind],
                               null_bytes == NULL ? NULL : null_bytes + from, OAP_ZONE_ROWS) != 0) {
      fail("add");
    }
  }
  if (oap_vector_encoder_finish(e, &out.bytes) != 0) {
    fail("finish");
  }
  out.data = memory(out.bytes);
  if (oap_vector_encoder_write(e, &out.data, &out.bytes, 1) != 0) {
    fail("write");
  }
  out.rate = ROWS / (cpu_now() - start);
  oap_vector_encoder_close(e);
  const unsigned char *pieces[] = {out.data};
  if (oap_vector_open(pieces, &out.bytes, 1, &out.vector) != 0) {
    fail("open");
  }
  return out;
}

static void drop(made *m) {
  oap_vector_close(m->vector);
  free(m->data);
}

static void show_encode(const char *name, const made *m) {
  static const char *const names[] = {"constant",   "packed", "runs",
                                      "dictionary", "plain",  "frequency"};
  oap_zone zone;
  (void)oap_vector_zone(m->vector, ZONES / 2, &zone);
  printf("encode %-28s %6.1f M values/s, %5.2f bits a value, %s\n", name, m->rate / 1e6,
         8 * (double)m->bytes / ROWS, names[zone.encoding]);
}

static void show_select_in(const char *name, const made *m, const int64_t *keys, uint64_t count) {
  oap_key_set *set;
  if (oap_key_set_open(keys, count, &set) != 0) {
    fail("key set");
  }
  double rates[ROUNDS];
  uint64_t found = 0;
  for (int r = 0; r < ROUNDS; r++) {
    double start = cpu_now();
    found = 0;
    for (uint32_t zone = 0; zone < ZONES; zone++) {
      found += (uint64_t)oap_vector_select_in(m->vector, zone, set, NULL, 0, rows_out);
    }
    rates[r] = ROWS / (cpu_now() - start);
  }
  printf("select IN, %-42s %7.0f M rows/s, %.4f found\n", name, median(rates, ROUNDS) / 1e6,
         (double)found / ROWS);
  oap_key_set_close(set);
}

static void show_pick(const made *m, uint32_t one_in) {
  uint16_t rows[OAP_ZONE_ROWS];
  uint32_t count = 0;
  for (uint32_t row = 0; row < OAP_ZONE_ROWS; row++) {
    if (random_next(&state) % one_in == 0) {
      rows[count++] = (uint16_t)row;
    }
  }
  double rates[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double start = cpu_now();
    for (uint32_t zone = 0; zone < ZONES; zone++) {
      sink += (uint64_t)oap_vector_unpack(m->vector, zone, rows, count, scratch, nulls);
    }
    rates[r] = ROWS / (cpu_now() - start);
  }
  printf("pick 1 row in %-4u %8.0f M rows/s of the chunk, %.2f ns for each picked\n", one_in,
         median(rates, ROUNDS) / 1e6, 1e9 / median(rates, ROUNDS) * ROWS / ((double)count * ZONES));
}

/* As the columns of sales are that all rows of one ticket share: runs of 1 to 2 * mean - 1 rows, of
 * values below a bound. */
static void bench_runs(const char *name, uint32_t mean, uint32_t below) {
  int32_t *values = memory((size_t)ROWS * 4);
  int64_t keys[31];
  for (size_t i = 0, end = 0; i < (size_t)ROWS; i++) {
    if (i == end) {
      end += 1 + random_next(&state) % (2 * mean - 1);
      values[i] = (int32_t)(random_next(&state) % below);
    } else {
      values[i] = values[i - 1];
    }
  }
  for (int i = 0; i < 31; i++) {
    keys[i] = (int64_t)(random_next(&state) % below);
  }
  made m = encode(OAP_I32, values, NULL);
  show_encode(name, &m);
  show_select_in("31 keys", &m, keys, 31);
  show_pick(&m, 1);
  show_pick(&m, 20);
  show_pick(&m, 200);
  drop(&m);
  free(values);
}

/* A column of 4-byte integers below a bound, and filters of 31 keys over it. */
static void bench_ints(uint32_t below, const uint8_t *null_bytes) {
  int32_t *values = memory((size_t)ROWS * 4);
  int64_t near[31], spread[31], far[31];
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    values[i] = (int32_t)(2450000 + random_next(&state) % below);
  }
  for (int i = 0; i < 31; i++) {
    near[i] = 2450000 + (int64_t)below / 3 + i;
    spread[i] = (int64_t)(2450000 + random_next(&state) % below);
    far[i] = i == 30 ? INT64_C(1) << 40 : spread[i];
  }
  made m = encode(OAP_I32, values, null_bytes);
  printf("ints below %u, %s\n", below, null_bytes == NULL ? "no nulls" : "with nulls");
  show_encode("near ints", &m);
  show_select_in("31 keys without gaps", &m, near, 31);
  show_select_in("31 keys, bitmap", &m, spread, 31);
  show_select_in("31 keys, table", &m, far, 31);
  show_pick(&m, 1);
  show_pick(&m, 4);
  show_pick(&m, 20);
  show_pick(&m, 200);
  drop(&m);
  free(values);
}

/* As the discounts of sales are: four in five are 0, the others below 20,000.00. */
static void bench_mostly_zero(const uint8_t *null_bytes) {
  int32_t *values = memory((size_t)ROWS * 4);
  int64_t keys[] = {0};
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    uint64_t random = random_next(&state);
    values[i] = random % 5 == 0 ? (int32_t)(random / 5 % 2000000) : 0;
  }
  made m = encode(OAP_I32, values, null_bytes);
  show_encode("ints, mostly 0", &m);
  show_select_in("the key 0", &m, keys, 1);
  show_pick(&m, 1);
  show_pick(&m, 20);
  show_pick(&m, 200);
  drop(&m);
  free(values);
}

static void bench_longs(void) {
  int64_t *values = memory((size_t)ROWS * 8);
  int64_t keys[31];
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    values[i] = (int64_t)(random_next(&state) >> 20);
  }
  for (int i = 0; i < 31; i++) {
    keys[i] = values[random_next(&state) % ROWS];
  }
  made m = encode(OAP_I64, values, NULL);
  show_encode("longs of 44 bits", &m);
  show_select_in("31 keys, table", &m, keys, 31);
  drop(&m);
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    values[i] = (int64_t)(i / 300);
  }
  m = encode(OAP_I64, values, NULL);
  show_encode("longs in runs of 300", &m);
  show_select_in("31 keys, table", &m, keys, 31);
  drop(&m);
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    values[i] = (int64_t)((random_next(&state) % 1000) * UINT64_C(0x9e3779b97f4a7c15));
  }
  m = encode(OAP_I64, values, NULL);
  show_encode("1000 longs far apart", &m);
  for (int i = 0; i < 31; i++) {
    keys[i] = values[random_next(&state) % ROWS];
  }
  show_select_in("31 keys, table", &m, keys, 31);
  drop(&m);
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    values[i] = (int64_t)random_next(&state);
  }
  m = encode(OAP_F64, values, NULL);
  show_encode("random doubles", &m);
  drop(&m);
  free(values);
}

int main(void) {
  printf("kernels: %s\n", oap_vector_kernels());
  bench_unpack();
  uint8_t *null_bytes = memory(ROWS);
  for (size_t i = 0; i < (size_t)ROWS; i++) {
    null_bytes[i] = random_next(&state) % 22 == 0;
  }
  bench_mostly_zero(null_bytes);
  bench_ints(1823, NULL);
  bench_ints(1823, null_bytes);
  bench_ints(102000, NULL);
  bench_runs("11 bits in runs of 12", 12, 1823);
  bench_runs("17 bits in runs of 12", 12, 100000);
  bench_runs("17 bits in runs of 4", 4, 100000);
  bench_longs();
  free(null_bytes);
  return 0;
}
