/* Every set of kernels that this processor can run, against naive loops: all widths, lengths around
 * the edges of blocks and registers, memory that ends where the data do. */
#include "check.h"
#include "vector/vector_format.h"
#include "vector/vector_kernels.h"
#include "vector/vector_order.h"

static const uint32_t lengths[] = {0,   1,    2,    7,    8,    9,    15,  16,  17,
                                   31,  32,   33,   63,   64,   65,   127, 511, 512,
                                   513, 1000, 1024, 1025, 4094, 4095, 4096};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* A copy that is exactly as long, so that a sanitizer sees any step beyond. */
static void *exact(const void *data, size_t bytes) {
  void *copy = NULL;
  CHECK(posix_memalign(&copy, 64, bytes == 0 ? 1 : bytes) == 0);
  if (bytes > 0) {
    memcpy(copy, data, bytes);
  }
  return copy;
}

/* Bit b of the value at place i, as the specification words it. */
static bool specified_bit(const unsigned char *packed, uint32_t width, uint32_t i, uint32_t b) {
  uint32_t lane_bits = width <= 32 ? 32 : 64, lanes = 512 / lane_bits;
  const unsigned char *block = packed + (size_t)(i / 512) * 64 * width;
  uint32_t bit = width * (i % 512 / lanes) + b;
  uint32_t word = bit / lane_bits * lanes + i % lanes;
  uint32_t in_word = bit % lane_bits;
  return block[word * lane_bits / 8 + in_word / 8] >> in_word % 8 & 1;
}

static void check_unpack(const vector_kernels *k, const unsigned char *packed, uint32_t width,
                         const uint64_t *values, uint32_t rows, uint64_t reference) {
  for (unsigned shift = width <= 32 ? 0 : 3; shift < 4; shift++) {
    unsigned char *out = malloc(((size_t)rows << shift) + 1);
    k->unpack[shift](packed, width, reference, rows, out);
    for (uint32_t i = 0; i < rows; i++) {
      uint64_t expected = values[i] + reference;
      CHECK(memcmp(out + ((size_t)i << shift), &expected, (size_t)1 << shift) == 0);
    }
    free(out);
  }
}

static void check_packing(const vector_kernels *k, uint64_t *random, uint32_t width) {
  static uint64_t wide[OAP_ZONE_ROWS];
  static uint32_t narrow[OAP_ZONE_ROWS];
  for (uint32_t i = 0; i < OAP_ZONE_ROWS; i++) {
    wide[i] = random_next(random) >> (64 - width);
    narrow[i] = (uint32_t)wide[i];
  }
  uint64_t bytes = vector_packed_bytes(OAP_ZONE_ROWS, width);
  unsigned char *packed = malloc(bytes);
  if (width <= 32) {
    k->pack32(narrow, 8, width, packed);
  } else {
    k->pack64(wide, 8, width, packed);
  }
  for (int n = 0; n < 500; n++) {
    uint32_t i = (uint32_t)random_below(random, OAP_ZONE_ROWS);
    uint32_t b = (uint32_t)random_below(random, width);
    CHECK(specified_bit(packed, width, i, b) == (wide[i] >> b & 1));
    CHECK(vector_packed_at(packed, width, i) == wide[i]);
  }
  for (unsigned i = 0; i < LENGTHS; i++) {
    unsigned char *part = exact(packed, vector_packed_bytes(lengths[i], width));
    check_unpack(k, part, width, wide, lengths[i], random_next(random));
    free(part);
  }
  free(packed);
}

static void check_integers(const vector_kernels *k, uint64_t *random, uint32_t rows) {
  uint64_t *wide = malloc(rows * sizeof(*wide) + 1);
  uint32_t *narrow = malloc(rows * sizeof(*narrow) + 1);
  uint8_t *flags = malloc(rows + 1);
  uint64_t low = random_next(random);
  uint32_t span = (uint32_t)random_below(random, 1000);
  uint32_t skipped = (uint32_t)random_below(random, 100);
  uint32_t *bitmap = malloc(((span + skipped) / 32 + 1) * sizeof(*bitmap));
  for (uint32_t i = 0; i <= (span + skipped) / 32; i++) {
    bitmap[i] = (uint32_t)random_next(random);
  }
  for (uint32_t i = 0; i < rows; i++) {
    wide[i] = random_below(random, 20) == 0 ? random_next(random)
                                            : low + random_below(random, span + 40) - 20;
    narrow[i] = (uint32_t)wide[i];
  }
#define EACH(kernel, type, values, condition, ...)                                                 \
  k->kernel(values, rows, (type)low, span, __VA_ARGS__);                                           \
  for (uint32_t i = 0; i < rows; i++) {                                                            \
    type above = (type)(values[i] - (type)low);                                                    \
    CHECK(flags[i] == (above <= span && (condition)));                                             \
  }
  EACH(range32, uint32_t, narrow, true, flags)
  EACH(range64, uint64_t, wide, true, flags)
#define IS_SET ((bitmap[(above + skipped) / 32] >> (above + skipped) % 32 & 1) != 0)
  EACH(bitmap32, uint32_t, narrow, IS_SET, bitmap, skipped, flags)
  EACH(bitmap64, uint64_t, wide, IS_SET, bitmap, skipped, flags)
  uint32_t *sieve = malloc(32 * sizeof(*sieve));
  uint64_t first = random_next(random);
  for (int i = 0; i < 32; i++) {
    sieve[i] = (uint32_t)random_next(random);
  }
#define HASH ((first + above) * VECTOR_HASH_FACTOR >> 54)
#define IS_KEPT ((sieve[HASH / 32] >> HASH % 32 & 1) != 0)
  EACH(sieve32, uint32_t, narrow, IS_KEPT, first, sieve, 54, flags)
  EACH(sieve64, uint64_t, wide, IS_KEPT, first, sieve, 54, flags)
  free(sieve);
  free(wide);
  free(narrow);
  free(flags);
  free(bitmap);
}

static void check_floats(const vector_kernels *k, uint64_t *random, uint32_t rows) {
  double *doubles = malloc(rows * sizeof(*doubles) + 1);
  float *floats = malloc(rows * sizeof(*floats) + 1);
  uint8_t *flags = malloc(rows + 1);
  static const double special[] = {
      0.0, -0.0, 1.0, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};
  for (uint32_t i = 0; i < rows; i++) {
    doubles[i] = special[random_below(random, 6)] * (double)(int64_t)random_next(random);
    floats[i] = (float)doubles[i];
  }
  int64_t low = vector_order(special[random_below(random, 6)]);
  int64_t high = vector_order(special[random_below(random, 6)]);
  k->doubles(doubles, rows, low, high, flags);
  for (uint32_t i = 0; i < rows; i++) {
    CHECK(flags[i] == (vector_order(doubles[i]) >= low && vector_order(doubles[i]) <= high));
  }
  k->floats(floats, rows, low, high, flags);
  for (uint32_t i = 0; i < rows; i++) {
    int64_t order = vector_order((double)floats[i]);
    CHECK(flags[i] == (order >= low && order <= high));
  }
  free(doubles);
  free(floats);
  free(flags);
}

static void check_flags(const vector_kernels *k, uint64_t *random, uint32_t rows) {
  uint8_t *bitmap = malloc((rows + 7) / 8 + 1);
  uint8_t *nulls = malloc(rows + 1), *flags = malloc(rows + 1), *before = malloc(rows + 1);
  uint16_t *out = malloc(rows * sizeof(*out) + 1), *in = malloc(rows * sizeof(*in) + 1);
  uint64_t one_in = 1 + random_below(random, 40);
  for (uint32_t i = 0; i < (rows + 7) / 8; i++) {
    bitmap[i] = (uint8_t)random_next(random);
  }
  k->expand(bitmap, rows, nulls);
  for (uint32_t i = 0; i < rows; i++) {
    CHECK(nulls[i] == (bitmap[i / 8] >> i % 8 & 1));
    flags[i] = before[i] = random_below(random, one_in) == 0;
    in[i] = (uint16_t)(i * 3);
  }
  k->mask(flags, nulls, rows);
  uint32_t found = k->compact(flags, rows, NULL, out), expected = 0;
  for (uint32_t i = 0; i < rows; i++) {
    CHECK(flags[i] == (before[i] && !nulls[i]));
    CHECK(!flags[i] || out[expected] == i);
    expected += flags[i];
  }
  CHECK(found == expected);
  CHECK(k->compact(flags, rows, in, in) == expected);
  for (uint32_t i = 0; i < expected; i++) {
    CHECK(in[i] == out[i] * 3u % 65536);
  }
  free(bitmap);
  free(nulls);
  free(flags);
  free(before);
  free(out);
  free(in);
}

static void check_gather(const vector_kernels *k, uint64_t *random, uint32_t rows) {
  uint32_t entries = 1 + (uint32_t)random_below(random, 1000);
  uint64_t *values = malloc(entries * sizeof(*values));
  uint32_t *codes = malloc(rows * sizeof(*codes) + 1);
  uint32_t greatest = 0;
  for (uint32_t i = 0; i < entries; i++) {
    values[i] = random_next(random);
  }
  for (uint32_t i = 0; i < rows; i++) {
    codes[i] = (uint32_t)random_below(random, entries);
    greatest = codes[i] > greatest ? codes[i] : greatest;
  }
  CHECK(k->greatest(codes, rows) == greatest);
  for (unsigned shift = 0; shift < 4; shift++) {
    unsigned char *in = exact(values, (size_t)entries << shift);
    unsigned char *out = malloc(((size_t)rows << shift) + 1);
    k->gather[shift](in, codes, rows, out);
    for (uint32_t i = 0; i < rows; i++) {
      CHECK(memcmp(out + ((size_t)i << shift), in + ((size_t)codes[i] << shift),
                   (size_t)1 << shift) == 0);
    }
    free(in);
    free(out);
  }
  free(values);
  free(codes);
}

static void check_numbers(const vector_kernels *k, uint64_t *random, uint32_t rows) {
  int64_t *values = malloc((rows + 1) * sizeof(*values));
  uint32_t *wide = malloc(rows * sizeof(*wide) + 1);
  values[0] = (int64_t)random_next(random);
  int64_t low = values[0], high = values[0], least, greatest;
  uint32_t changes = 0;
  for (uint32_t i = 1; i < rows; i++) {
    values[i] = random_below(random, 3) == 0 ? (int64_t)random_next(random) : values[i - 1];
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
    changes += values[i] != values[i - 1];
  }
  if (rows > 0) {
    k->bounds(values, rows, &least, &greatest);
    CHECK(least == low && greatest == high && k->changes(values, rows) == changes);
  }
  k->widen8(values, rows, wide);
  for (uint32_t i = 0; i < rows; i++) {
    CHECK((int32_t)wide[i] == ((const int8_t *)values)[i]);
  }
  k->widen16(values, rows, wide);
  for (uint32_t i = 0; i < rows; i++) {
    CHECK((int32_t)wide[i] == ((const int16_t *)values)[i]);
  }
  free(values);
  free(wide);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  for (uint64_t run = 0, runs = check_runs(2); run < runs; run++) {
    for (unsigned level = 0; vector_kernels_at(level) != NULL; level++) {
      const vector_kernels *k = vector_kernels_at(level);
      for (uint32_t width = 1; width <= 64; width++) {
        check_packing(k, &random, width);
      }
      for (unsigned i = 0; i < LENGTHS; i++) {
        check_integers(k, &random, lengths[i]);
        check_floats(k, &random, lengths[i]);
        check_flags(k, &random, lengths[i]);
        check_gather(k, &random, lengths[i]);
        check_numbers(k, &random, lengths[i]);
      }
    }
  }
  return 0;
}
