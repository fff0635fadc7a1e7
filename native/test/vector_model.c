/* See vector_model.h. */
#include "vector_model.h"

#define LONGEST 40

/* What the values of a zone look like. Few: out of a small set, the same in all zones. Common: most
 * are one value. */
enum shape { SAME, NEAR, RUNS, FEW, COMMON, ANY, SHAPES };

unsigned column_size(enum oap_kind kind) {
  static const unsigned sizes[] = {0, 1, 2, 4, 8, 4, 8, 0};
  return sizes[kind];
}

/* Floating-point values that are special in Spark's order. */
static int64_t special_bits(uint64_t *random, enum oap_kind kind) {
  static const uint64_t doubles[] = {0x7ff8000000000000,
                                     0xfff8000000000001,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0x8000000000000000,
                                     0,
                                     1,
                                     0x8000000000000001};
  static const uint32_t floats[] = {0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000,
                                    0x80000000, 0,          1,          0x80000001};
  uint64_t i = random_below(random, 8);
  return (int64_t)(kind == OAP_F64 ? doubles[i] : floats[i]);
}

/* Bits of a value; of a small range when the shape asks for it. */
static int64_t random_bits(uint64_t *random, enum oap_kind kind, enum shape shape, uint64_t base,
                           unsigned width, const int64_t *few) {
  uint64_t bits = random_next(random);
  if (shape == FEW) {
    return few[bits % 200];
  }
  if (shape == NEAR || shape == RUNS || shape == COMMON) {
    return (int64_t)(base + (width == 0 ? 0 : bits >> (64 - width)));
  }
  bool is_float = kind == OAP_F32 || kind == OAP_F64;
  return is_float && bits % 8 == 0 ? special_bits(random, kind) : (int64_t)random_next(random);
}

static void fill_numbers(uint64_t *random, column *c, uint32_t from, uint32_t rows,
                         const int64_t *few) {
  unsigned size = column_size(c->kind);
  enum shape shape = (enum shape)random_below(random, SHAPES);
  unsigned width = (unsigned)random_below(random, size * 8 + 1);
  uint64_t base = random_next(random);
  uint64_t longest = 1 + random_below(random, 60);
  int64_t bits = random_bits(random, c->kind, shape, base, width, few), common = bits;
  uint64_t left = 0;
  for (uint32_t row = from; row < from + rows; row++) {
    if (shape == COMMON && random_below(random, 64) < longest) {
      bits = common;
    } else if (shape != SAME && left == 0) {
      bits = random_bits(random, c->kind, shape, base, width, few);
      left = shape == RUNS ? 1 + random_below(random, longest) : 1;
    }
    left -= left > 0;
    memcpy(c->values + (size_t)row * size, &bits, size);
  }
}

static void fill_bytes(uint64_t *random, column *c, uint32_t from, uint32_t rows) {
  enum shape shape = (enum shape)random_below(random, SHAPES);
  uint64_t longest = random_below(random, LONGEST + 1);
  bool is_fixed = random_below(random, 3) == 0;
  uint32_t run = 2 + (uint32_t)random_below(random, 30);
  for (uint32_t row = from; row < from + rows; row++) {
    unsigned char *to = c->bytes + (size_t)row * LONGEST;
    uint64_t value = shape == SAME   ? 7
                     : shape == FEW  ? random_below(random, 300)
                     : shape == RUNS ? row / run
                                     : random_next(random);
    uint64_t state = value;
    uint64_t length = is_fixed ? longest : random_below(&state, longest + 1);
    for (uint64_t i = 0; i < length; i++) {
      to[i] = (unsigned char)random_next(&state);
    }
    c->addresses[row] = (int64_t)(uintptr_t)to;
    c->lengths[row] = (int32_t)length;
  }
}

column column_random(uint64_t *random, enum oap_kind kind, uint32_t rows) {
  column c = {.kind = kind, .rows = rows, .nulls = calloc(rows + 1, 1)};
  int64_t few[200];
  for (int i = 0; i < 200; i++) {
    few[i] = (int64_t)random_next(random);
  }
  if (kind == OAP_BYTES) {
    c.bytes = malloc((size_t)rows * LONGEST + 1);
    c.addresses = calloc(rows + 1, sizeof(int64_t));
    c.lengths = calloc(rows + 1, sizeof(int32_t));
  } else {
    c.values = malloc((size_t)rows * column_size(kind) + 1);
  }
  bool is_uniform = random_below(random, 3) == 0;
  for (uint32_t from = 0; from < rows;) {
    uint32_t step = is_uniform || rows - from < OAP_ZONE_ROWS ? rows - from : OAP_ZONE_ROWS;
    if (kind == OAP_BYTES) {
      fill_bytes(random, &c, from, step);
    } else {
      fill_numbers(random, &c, from, step, few);
    }
    uint64_t nulls = random_below(random, 4); /* none, few, many, all */
    for (uint32_t row = from; row < from + step && nulls > 0; row++) {
      c.nulls[row] = nulls == 3 ? 1 : random_below(random, nulls == 1 ? 20 : 2) == 0;
    }
    from += step;
  }
  return c;
}

void column_free(column *c) {
  free(c->values);
  free(c->addresses);
  free(c->lengths);
  free(c->bytes);
  free(c->nulls);
}

int64_t column_integer(const column *c, uint32_t row) {
  int64_t value = 0;
  unsigned size = column_size(c->kind);
  memcpy(&value, c->values + (size_t)row * size, size);
  unsigned unused = 64 - size * 8;
  return (int64_t)((uint64_t)value << unused) >> unused;
}

double column_double(const column *c, uint32_t row) {
  if (c->kind == OAP_F32) {
    float value;
    memcpy(&value, c->values + (size_t)row * 4, sizeof(value));
    return (double)value;
  }
  double value;
  memcpy(&value, c->values + (size_t)row * 8, sizeof(value));
  return value;
}

void column_add(const column *c, oap_vector_encoder *encoder, uint32_t from, uint32_t rows) {
  bool has_nulls = false;
  for (uint32_t row = from; row < from + rows; row++) {
    has_nulls = has_nulls || c->nulls[row] != 0;
  }
  const uint8_t *nulls = has_nulls ? c->nulls + from : NULL;
  if (c->kind == OAP_BYTES) {
    CHECK(oap_vector_encoder_add_bytes(encoder, c->addresses + from, c->lengths + from, nulls,
                                       rows) == 0);
  } else {
    CHECK(oap_vector_encoder_add(encoder, c->values + (size_t)from * column_size(c->kind), nulls,
                                 rows) == 0);
  }
}

/* Cuts the chunk's length at multiples of 64. */
static void cut(uint64_t *random, chunk *c, uint32_t pieces) {
  uint64_t left = c->bytes;
  c->memory = aligned_alloc(64, (c->bytes + 64 * OAP_VECTOR_MOST_PIECES + 63) / 64 * 64);
  unsigned char *at = c->memory;
  while (left > 0) {
    uint64_t units = left / 64;
    uint64_t bytes =
        c->pieces + 1 == pieces || units < 2 ? left : 64 * (1 + random_below(random, units));
    bytes = bytes > left ? left : bytes;
    c->piece[c->pieces] = at;
    c->piece_bytes[c->pieces++] = bytes;
    at += bytes + 64;
    left -= bytes;
  }
}

chunk chunk_encode(uint64_t *random, const column *c, uint32_t pieces) {
  oap_vector_encoder *encoder;
  CHECK(oap_vector_encoder_open(c->kind, &encoder) == 0);
  for (uint32_t from = 0; from < c->rows; from += OAP_ZONE_ROWS) {
    column_add(c, encoder, from, c->rows - from < OAP_ZONE_ROWS ? c->rows - from : OAP_ZONE_ROWS);
  }
  chunk out = {.pieces = 0};
  CHECK(oap_vector_encoder_finish(encoder, &out.bytes) == 0);
  cut(random, &out, pieces);
  CHECK(oap_vector_encoder_write(encoder, out.piece, out.piece_bytes, out.pieces) == 0);
  oap_vector_encoder_close(encoder);
  return out;
}

void chunk_free(chunk *c) { free(c->memory); }

int chunk_open(const chunk *c, oap_vector **out) {
  return oap_vector_open((const unsigned char *const *)c->piece, c->piece_bytes, c->pieces, out);
}

uint32_t selection_random(uint64_t *random, uint32_t rows, uint16_t *selection) {
  uint64_t one_in = 1 + random_below(random, random_below(random, 2) == 0 ? 4 : 300);
  uint32_t count = 0;
  for (uint32_t row = 0; row < rows; row++) {
    if (random_below(random, one_in) == 0) {
      selection[count++] = (uint16_t)row;
    }
  }
  return count;
}
