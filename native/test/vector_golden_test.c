/* The format does not change by accident: files in golden/, one for each kind, are read, and are
 * what the encoder writes today. "vector_golden_test write" makes them anew; that is right
 * only together with a new version in VECTOR-CHUNK.md, or when the encoder chooses differently. */
#include "vector_model.h"

#define ZONES 6
#define MOST_ROWS (ZONES * OAP_ZONE_ROWS)

static const char *const names[] = {"", "i8", "i16", "i32", "i64", "f32", "f64", "bytes"};

/* Values by a formula, so that every encoding comes: zones of one value, of near values, of runs,
 * of few values far apart, of mostly one value, and a short one. */
static uint64_t bits_of(enum oap_kind kind, uint32_t row) {
  static const uint64_t few[] = {0x7ff8000000000000, 0xc05ec00000000000, 0x8000000000000000,
                                 0x3ff0000000000000, 0x0123456789abcdef};
  uint64_t mixed = (row * UINT64_C(2654435761)) % 1000003;
  uint64_t base = kind == OAP_F32 ? 0x3f800000 : kind == OAP_F64 ? few[3] : (uint64_t)-3;
  switch (row / OAP_ZONE_ROWS) {
  case 0:
    return base;
  case 1:
    return base + mixed % 7;
  case 2:
    return base + (row % OAP_ZONE_ROWS) / 16;
  case 3:
    return kind == OAP_F32 ? few[mixed % 5] >> 32 : few[mixed % 5];
  case 4:
    return mixed % 8 == 0 ? mixed * UINT64_C(0x9e3779b97f4a7c15) : base;
  default:
    return kind == OAP_I64 ? mixed << 13 : mixed * UINT64_C(0x9e3779b97f4a7c15);
  }
}

static uint32_t text_of(uint32_t row, char *out) {
  uint64_t mixed = (row * UINT64_C(2654435761)) % 1000003;
  switch (row / OAP_ZONE_ROWS) {
  case 0:
    return (uint32_t)sprintf(out, "constant");
  case 1:
    return (uint32_t)sprintf(out, "%.*s", (int)(mixed % 5), "abcd");
  case 2:
    return (uint32_t)sprintf(out, "run %u", row / 10 % 50);
  case 3:
    return (uint32_t)sprintf(out, "code %llu", (unsigned long long)(mixed % 3));
  case 4:
    return (uint32_t)sprintf(out, "%s", mixed % 8 == 0 ? "now and then" : "mostly");
  default:
    return (uint32_t)sprintf(out, "%llu", (unsigned long long)mixed);
  }
}

/* Rows of zones 1, 3 and 5 that end with 0 or 3 are null, and rows of zone 4 that end with 00. */
static column golden_column(enum oap_kind kind) {
  uint32_t last = kind == OAP_I64 ? 512 : 11;
  column c = {
      .kind = kind, .rows = (ZONES - 1) * OAP_ZONE_ROWS + last, .nulls = calloc(MOST_ROWS, 1)};
  unsigned size = column_size(kind);
  c.values = malloc((size_t)MOST_ROWS * size + 1);
  c.bytes = malloc((size_t)MOST_ROWS * 32);
  c.addresses = calloc(MOST_ROWS, sizeof(*c.addresses));
  c.lengths = calloc(MOST_ROWS, sizeof(*c.lengths));
  for (uint32_t row = 0; row < c.rows; row++) {
    uint64_t bits = bits_of(kind, row);
    char *text = (char *)c.bytes + (size_t)row * 32;
    memcpy(c.values + (size_t)row * size, &bits, size);
    c.lengths[row] = (int32_t)text_of(row, text);
    c.addresses[row] = (int64_t)(uintptr_t)text;
    bool is_odd = row / OAP_ZONE_ROWS % 2 == 1;
    c.nulls[row] =
        is_odd ? row % 10 == 0 || row % 10 == 3 : row / OAP_ZONE_ROWS == 4 && row % 100 == 0;
  }
  return c;
}

static void check_zone(const column *c, oap_vector *v, uint32_t zone) {
  uint32_t from = zone * OAP_ZONE_ROWS, size = column_size(c->kind);
  static unsigned char values[OAP_ZONE_ROWS * 8];
  static int64_t addresses[OAP_ZONE_ROWS];
  static int32_t lengths[OAP_ZONE_ROWS];
  static uint8_t nulls[OAP_ZONE_ROWS];
  oap_zone z;
  CHECK(oap_vector_zone(v, zone, &z) == 0);
  CHECK((c->kind == OAP_BYTES
             ? oap_vector_unpack_bytes(v, zone, NULL, 0, addresses, lengths, nulls)
             : oap_vector_unpack(v, zone, NULL, 0, values, nulls)) == (int)z.nulls);
  for (uint32_t i = 0; i < z.rows; i++) {
    uint32_t row = from + i;
    CHECK(nulls[i] == c->nulls[row]);
    if (!nulls[i] && c->kind == OAP_BYTES) {
      CHECK(lengths[i] == c->lengths[row]);
      CHECK(memcmp((void *)(uintptr_t)addresses[i], (void *)(uintptr_t)c->addresses[row],
                   (size_t)lengths[i]) == 0);
    } else if (!nulls[i]) {
      CHECK(memcmp(values + (size_t)i * size, c->values + (size_t)row * size, size) == 0);
    }
  }
}

static chunk load(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
  chunk c = {.bytes = (uint64_t)ftell(file), .pieces = 1};
  c.memory = aligned_alloc(64, (c.bytes + 63) / 64 * 64);
  CHECK(fseek(file, 0, SEEK_SET) == 0 && fread(c.memory, 1, c.bytes, file) == c.bytes);
  CHECK(fclose(file) == 0);
  c.piece[0] = c.memory;
  c.piece_bytes[0] = c.bytes;
  return c;
}

static void store(const char *path, const chunk *c) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(c->piece[0], 1, c->bytes, file) == c->bytes && fclose(file) == 0);
}

int main(int argc, char **argv) {
  bool is_writing = argc == 2 && strcmp(argv[1], "write") == 0;
  bool seen[ZONES] = {false}, seen_packed_runs[2] = {false}; /* of numbers, of codes */
  uint64_t random = 1;
  for (int kind = OAP_I8; kind <= OAP_BYTES; kind++) {
    char path[4096];
    CHECK(snprintf(path, sizeof(path), "%s/%s.chunk", GOLDEN, names[kind]) < (int)sizeof(path));
    column c = golden_column((enum oap_kind)kind);
    chunk written = chunk_encode(&random, &c, 1);
    if (is_writing) {
      store(path, &written);
    }
    chunk golden = load(path);
    oap_vector *v;
    CHECK(chunk_open(&golden, &v) == 0);
    CHECK(oap_vector_kind(v) == (enum oap_kind)kind && oap_vector_rows(v) == c.rows);
    for (uint32_t zone = 0; zone < ZONES; zone++) {
      oap_zone z;
      CHECK(oap_vector_zone(v, zone, &z) == 0);
      seen[z.encoding] = true;
      seen_packed_runs[kind == OAP_BYTES] |= z.encoding == OAP_RUNS && z.width > 0;
      check_zone(&c, v, zone);
    }
    CHECK(golden.bytes == written.bytes &&
          memcmp(golden.piece[0], written.piece[0], golden.bytes) == 0);
    oap_vector_close(v);
    chunk_free(&written);
    chunk_free(&golden);
    column_free(&c);
  }
  for (int encoding = 0; encoding < 6; encoding++) {
    CHECK(seen[encoding]);
  }
  CHECK(seen_packed_runs[0] && seen_packed_runs[1]);
  return 0;
}
