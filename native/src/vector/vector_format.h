/*
 * The layout of a vector chunk as structures; native/VECTOR-CHUNK.md says what each field means. It
 * is the lowest of the layers of vector chunks, of which each may use those above it here:
 *
 * vector: the layout, and how it is read
 *   vector_format vector_order          the layout; Spark's order of floating-point values
 *   vector_kernels vector_dispatch      loops over values, for several processors
 *   vector_keys                         sets of keys
 *   vector_nulls                        which rows of a zone are null
 *   vector_reader vector_decoded        a chunk, or rows that were decoded elsewhere, opened
 *   vector_unpack vector_frequency vector_decide   values of zones; what minimum and maximum decide
 *   vector_select                       filters row by row
 * encode: how it is written
 *   vector_dictionary vector_source     values of a chunk, of its source
 *   vector_encode                       the bytes of one zone
 *   vector_encoder.h                    a chunk that is encoded
 *   vector_choose_dictionary vector_write   whether it has a dictionary; its bytes
 *   vector_encoder.c                    rows become zones
 */
#ifndef OAP_VECTOR_FORMAT_H
#define OAP_VECTOR_FORMAT_H

#include "oap_vector.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Vector chunks are little-endian, and read in place"
#endif

#define VECTOR_MAGIC UINT32_C(0x5650414f) /* the bytes OAPV */
#define VECTOR_VERSION 2
#define VECTOR_ALIGNMENT 64
#define VECTOR_MOST_PIECES OAP_VECTOR_MOST_PIECES
#define VECTOR_BLOCK_ROWS 512                      /* are packed together */
#define VECTOR_MOST_ZONE_BYTES (UINT64_C(1) << 30) /* of values, in a zone of BYTES */
#define VECTOR_MOST_ROWS INT32_MAX

typedef struct vector_header {
  uint32_t magic;
  uint16_t version;
  uint8_t kind;
  uint8_t zero;
  uint64_t bytes;
  uint32_t rows;
  uint32_t zones;
  uint64_t dictionary_offset;
  uint64_t dictionary_bytes;
  uint32_t dictionary_entries;
  uint32_t zero4;
  uint64_t zeros[2];
} vector_header;

typedef struct vector_zone {
  uint64_t offset;
  uint32_t bytes;
  uint16_t rows;
  uint16_t nulls;
  uint8_t encoding;
  uint8_t width;
  uint16_t zero;
  uint32_t count;
  uint64_t reference;
  int64_t minimum;
  int64_t maximum;
  uint64_t common;
  uint64_t zero8;
} vector_zone;

_Static_assert(sizeof(vector_header) == 64, "as specified");
_Static_assert(sizeof(vector_zone) == 64, "as specified");

static inline uint64_t vector_round(uint64_t bytes) {
  return (bytes + VECTOR_ALIGNMENT - 1) & ~(uint64_t)(VECTOR_ALIGNMENT - 1);
}

/* log2 of the bytes of a value; none for BYTES. */
static inline unsigned vector_shift(enum oap_kind kind) {
  static const uint8_t shifts[] = {0, 0, 1, 2, 3, 2, 3, 0};
  return shifts[kind];
}

static inline bool vector_is_float(enum oap_kind kind) {
  return kind == OAP_F32 || kind == OAP_F64;
}

static inline bool vector_is_integer(enum oap_kind kind) {
  return kind >= OAP_I8 && kind <= OAP_I64;
}

static inline uint64_t vector_packed_bytes(uint32_t rows, uint32_t width) {
  return (uint64_t)((rows + VECTOR_BLOCK_ROWS - 1) / VECTOR_BLOCK_ROWS) * VECTOR_BLOCK_ROWS / 8 *
         width;
}

/* log2 of the bytes of a run's value that is not packed: those of BYTES are codes. */
static inline unsigned vector_run_shift(enum oap_kind kind) {
  return kind == OAP_BYTES ? 1 : vector_shift(kind);
}

/* The ends of runs, and their values: packed, or with a width of 0 as they are. */
static inline uint64_t vector_runs_bytes(enum oap_kind kind, uint32_t runs, uint32_t width) {
  return vector_round(2 * (uint64_t)runs) +
         (width > 0 ? vector_packed_bytes(runs, width) : (uint64_t)runs << vector_run_shift(kind));
}

/* A bit for each row. */
static inline uint64_t vector_bitmap_bytes(uint32_t rows) { return vector_round((rows + 7) / 8); }

/* Few nulls are listed, as row numbers of 16 bits. */
static inline bool vector_nulls_are_listed(uint32_t rows, uint32_t nulls) {
  return vector_round(2 * (uint64_t)nulls) < vector_bitmap_bytes(rows);
}

/* What says which rows are null: nothing where none or all are. */
static inline uint64_t vector_nulls_bytes(uint32_t rows, uint32_t nulls) {
  if (nulls == 0 || nulls == rows) {
    return 0;
  }
  return vector_nulls_are_listed(rows, nulls) ? vector_round(2 * (uint64_t)nulls)
                                              : vector_bitmap_bytes(rows);
}

static inline unsigned vector_bits(uint64_t number) {
  return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

/* One packed value. A block of 512 values is 16 lanes of 32 bits, or above a width of 32, 8 lanes
 * of 64 bits: value i of the block is the i / lanes-th of lane i % lanes. */
static inline uint64_t vector_packed_at(const unsigned char *packed, uint32_t width, uint32_t row) {
  const unsigned char *block = packed + (uint64_t)(row / VECTOR_BLOCK_ROWS) * 64 * width;
  uint32_t in_block = row % VECTOR_BLOCK_ROWS;
  if (width <= 32) {
    const uint32_t *words = (const uint32_t *)(const void *)block + in_block % 16;
    uint32_t bit = in_block / 16 * width;
    uint32_t shift = bit % 32;
    const uint32_t *word = words + bit / 32 * 16;
    uint64_t two = *word | (uint64_t)(shift + width > 32 ? word[16] : 0) << 32;
    return two >> shift & ((UINT64_C(1) << width) - 1);
  }
  const uint64_t *words = (const uint64_t *)(const void *)block + in_block % 8;
  uint32_t bit = in_block / 8 * width;
  uint32_t shift = bit % 64;
  const uint64_t *word = words + bit / 64 * 8;
  uint64_t value = *word >> shift;
  if (shift + width > 64) {
    value |= word[8] << (64 - shift);
  }
  return value & (UINT64_MAX >> (64 - width));
}

#endif
