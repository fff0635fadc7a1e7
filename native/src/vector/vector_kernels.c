/*
 * The loops over values: see vector_kernels.h. They are written so that the compiler turns every
 * inner loop into vector instructions of whatever width it is told to. CMakeLists.txt compiles this
 * file once per kind of processor, whose name VECTOR_LEVEL is.
 *
 * A test writes a byte per row. Bytes become row numbers at the end, because most zones have few
 * rows that match, and eight bytes without one are passed over at once.
 */
#include "vector_kernels.h"

#include "vector_order.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define TEXT2(a) #a
#define TEXT(a) TEXT2(a)

#define LANES32 16
#define LANES64 8

/* Packs blocks of 512 values into lanes of 32 or of 64 bits. */
#define PACK(bits, lanes)                                                                          \
  static void pack##bits(const uint##bits##_t *values, uint32_t blocks, uint32_t width,            \
                         void *packed) {                                                           \
    uint##bits##_t *out = packed;                                                                  \
    for (uint32_t b = 0; b < blocks; b++, out += lanes * width, values += 512) {                   \
      memset(out, 0, (size_t)lanes *width * sizeof(*out));                                         \
      for (uint32_t j = 0; j < bits; j++) {                                                        \
        uint32_t bit = j * width, shift = bit % bits;                                              \
        uint##bits##_t *low = out + bit / bits * lanes;                                            \
        const uint##bits##_t *in = values + j * lanes;                                             \
        for (int lane = 0; lane < lanes; lane++) {                                                 \
          low[lane] |= in[lane] << shift;                                                          \
        }                                                                                          \
        if (shift + width > bits) {                                                                \
          for (int lane = 0; lane < lanes; lane++) {                                               \
            low[lanes + lane] = in[lane] >> (bits - shift);                                        \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

PACK(32, LANES32)
PACK(64, LANES64)

/* Unpacks one block of 512 values from lanes of some bits to values of another size. */
#define UNPACK_BLOCK(name, bits, lane_bits, lanes)                                                 \
  static inline void name(const uint##lane_bits##_t *restrict in, uint32_t width,                  \
                          uint##bits##_t reference, uint##bits##_t *restrict out) {                \
    uint##lane_bits##_t mask = UINT##lane_bits##_MAX >> (lane_bits - width);                       \
    for (uint32_t j = 0; j < lane_bits; j++) {                                                     \
      uint32_t bit = j * width, shift = bit % lane_bits;                                           \
      const uint##lane_bits##_t *low = in + bit / lane_bits * lanes;                               \
      if (shift + width <= lane_bits) {                                                            \
        for (int lane = 0; lane < lanes; lane++) {                                                 \
          out[lane] = (uint##bits##_t)(reference + (uint##bits##_t)(low[lane] >> shift & mask));   \
        }                                                                                          \
      } else {                                                                                     \
        for (int lane = 0; lane < lanes; lane++) {                                                 \
          uint##lane_bits##_t both = low[lane] >> shift | low[lanes + lane]                        \
                                                              << (lane_bits - shift);              \
          out[lane] = (uint##bits##_t)(reference + (uint##bits##_t)(both & mask));                 \
        }                                                                                          \
      }                                                                                            \
      out += lanes;                                                                                \
    }                                                                                              \
  }

UNPACK_BLOCK(block_to8, 8, 32, LANES32)
UNPACK_BLOCK(block_to16, 16, 32, LANES32)
UNPACK_BLOCK(block_to32, 32, 32, LANES32)
UNPACK_BLOCK(block_to64, 64, 32, LANES32)
UNPACK_BLOCK(wide_block_to64, 64, 64, LANES64)

/* All blocks; the last, if it is short, by way of the stack. */
#define UNPACK(name, bits, block, lane_type, lanes)                                                \
  static void name(const void *packed, uint32_t width, uint64_t reference, uint32_t rows,          \
                   void *values) {                                                                 \
    const lane_type *in = packed;                                                                  \
    uint##bits##_t *out = values;                                                                  \
    for (; rows >= 512; rows -= 512, in += lanes * width, out += 512) {                            \
      block(in, width, (uint##bits##_t)reference, out);                                            \
    }                                                                                              \
    if (rows > 0) {                                                                                \
      uint##bits##_t last[512];                                                                    \
      block(in, width, (uint##bits##_t)reference, last);                                           \
      memcpy(out, last, rows * sizeof(*out));                                                      \
    }                                                                                              \
  }

UNPACK(unpack8, 8, block_to8, uint32_t, LANES32)
UNPACK(unpack16, 16, block_to16, uint32_t, LANES32)
UNPACK(unpack32, 32, block_to32, uint32_t, LANES32)
UNPACK(unpack64_narrow, 64, block_to64, uint32_t, LANES32)
UNPACK(unpack64_wide, 64, wide_block_to64, uint64_t, LANES64)

static void unpack64(const void *packed, uint32_t width, uint64_t reference, uint32_t rows,
                     void *values) {
  if (width <= 32) {
    unpack64_narrow(packed, width, reference, rows, values);
  } else {
    unpack64_wide(packed, width, reference, rows, values);
  }
}

#define GATHER(bits)                                                                               \
  static void gather##bits(const void *entries, const uint32_t *codes, uint32_t rows,              \
                           void *values) {                                                         \
    const uint##bits##_t *in = entries;                                                            \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      out[i] = in[codes[i]];                                                                       \
    }                                                                                              \
  }

GATHER(8)
GATHER(16)
GATHER(32)
GATHER(64)

static uint32_t greatest(const uint32_t *values, uint32_t rows) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rows; i++) {
    found = values[i] > found ? values[i] : found;
  }
  return found;
}

#define WIDEN(bits)                                                                                \
  static void widen##bits(const void *values, uint32_t rows, uint32_t *wide) {                     \
    const int##bits##_t *in = values;                                                              \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      wide[i] = (uint32_t)(int32_t)in[i];                                                          \
    }                                                                                              \
  }

WIDEN(8)
WIDEN(16)

static void bounds(const int64_t *values, uint32_t rows, int64_t *least, int64_t *most) {
  int64_t low = values[0], high = values[0];
  for (uint32_t i = 1; i < rows; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  *least = low;
  *most = high;
}

static uint32_t changes(const int64_t *values, uint32_t rows) {
  uint32_t found = 0;
  for (uint32_t i = 1; i < rows; i++) {
    found += values[i] != values[i - 1];
  }
  return found;
}

static void extend32(const int32_t *values, uint32_t rows, int64_t *wide) {
  for (uint32_t i = 0; i < rows; i++) {
    wide[i] = values[i];
  }
}

static void narrow(const int64_t *values, uint32_t rows, uint64_t reference, uint32_t *out) {
  for (uint32_t i = 0; i < rows; i++) {
    out[i] = (uint32_t)((uint64_t)values[i] - reference);
  }
}

static uint32_t flags(const uint8_t *in, uint32_t rows, uint8_t *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < rows; i++) {
    out[i] = in[i] != 0;
    count += in[i] != 0;
  }
  return count;
}

static bool bound_ids(const uint32_t *ids, const uint8_t *nulls, uint32_t rows, uint32_t bound,
                      uint32_t *out) {
  uint32_t beyond = 0;
  if (nulls == NULL) {
    for (uint32_t i = 0; i < rows; i++) {
      out[i] = ids[i] < bound ? ids[i] : 0;
      beyond |= ids[i] >= bound;
    }
  } else {
    for (uint32_t i = 0; i < rows; i++) {
      out[i] = ids[i] < bound ? ids[i] : 0;
      beyond |= (ids[i] >= bound) & (nulls[i] == 0);
    }
  }
  return beyond != 0;
}

static void expand(const uint8_t *restrict bitmap, uint32_t rows, uint8_t *restrict nulls) {
  uint32_t i = 0;
  for (; i + 8 <= rows; i += 8) {
    /* Each byte keeps one of the eight bits; those left are carried up to bit 7. */
    uint64_t bits = bitmap[i / 8] * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
    uint64_t set = (bits + UINT64_C(0x00406070787c7e7f)) >> 7 & UINT64_C(0x0101010101010101);
    memcpy(nulls + i, &set, 8);
  }
  for (; i < rows; i++) {
    nulls[i] = bitmap[i / 8] >> i % 8 & 1;
  }
}

/* Tests of values of 32 and of 64 bits. */
#define FILTERS(bits)                                                                              \
  static void range##bits(const uint##bits##_t *restrict values, uint32_t rows,                    \
                          uint##bits##_t low, uint##bits##_t span, uint8_t *restrict flags) {      \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      flags[i] = values[i] - low <= span;                                                          \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void bitmap##bits(const uint##bits##_t *restrict values, uint32_t rows,                   \
                           uint##bits##_t low, uint##bits##_t span,                                \
                           const uint32_t *restrict bitmap, uint32_t skipped,                      \
                           uint8_t *restrict flags) {                                              \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      uint##bits##_t above = values[i] - low;                                                      \
      uint32_t is_inside = above <= span;                                                          \
      uint32_t bit = (is_inside ? (uint32_t)above : 0) + skipped;                                  \
      flags[i] = (uint8_t)(bitmap[bit / 32] >> bit % 32 & is_inside);                              \
    }                                                                                              \
  }                                                                                                \
                                                                                                   \
  static void sieve##bits(const uint##bits##_t *restrict values, uint32_t rows,                    \
                          uint##bits##_t low, uint##bits##_t span, uint64_t first,                 \
                          const uint32_t *restrict sieve, unsigned shift,                          \
                          uint8_t *restrict flags) {                                               \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      uint##bits##_t above = values[i] - low;                                                      \
      uint32_t bit = (uint32_t)((first + above) * VECTOR_HASH_FACTOR >> shift);                    \
      flags[i] = (uint8_t)(sieve[bit / 32] >> bit % 32 & (uint32_t)(above <= span));               \
    }                                                                                              \
  }

FILTERS(32)
FILTERS(64)

/* Tests of floating-point values. */
#define ORDER_FILTER(name, type)                                                                   \
  static void name(const type *restrict values, uint32_t rows, int64_t low, int64_t high,          \
                   uint8_t *restrict flags) {                                                      \
    for (uint32_t i = 0; i < rows; i++) {                                                          \
      int64_t order = vector_order((double)values[i]);                                             \
      flags[i] = (order >= low) & (order <= high);                                                 \
    }                                                                                              \
  }

ORDER_FILTER(floats, float)
ORDER_FILTER(doubles, double)

static void mask(uint8_t *restrict flags, const uint8_t *restrict nulls, uint32_t rows) {
  for (uint32_t i = 0; i < rows; i++) {
    flags[i] &= (uint8_t)(nulls[i] == 0);
  }
}

static inline uint32_t sum(const uint8_t *flags, uint32_t rows) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rows; i++) {
    found += flags[i];
  }
  return found;
}

/* Where many match: every row is written, and only those that match are kept. */
static uint32_t compact_many(const uint8_t *flags, uint32_t rows, const uint16_t *in,
                             uint16_t *out) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < rows; i++) {
    out[found] = in == NULL ? (uint16_t)i : in[i];
    found += flags[i];
  }
  return found;
}

static uint32_t compact(const uint8_t *flags, uint32_t rows, const uint16_t *in, uint16_t *out) {
  if (sum(flags, rows) > rows / 8) {
    return compact_many(flags, rows, in, out);
  }
  uint32_t found = 0, i = 0;
  for (; i + 8 <= rows; i += 8) {
    for (uint64_t eight = vector_eight_flags(flags + i); eight != 0;) {
      uint32_t row = i + vector_next_flag(&eight);
      out[found++] = in == NULL ? (uint16_t)row : in[row];
    }
  }
  for (; i < rows; i++) {
    if (flags[i] != 0) {
      out[found++] = in == NULL ? (uint16_t)i : in[i];
    }
  }
  return found;
}

extern const vector_kernels JOIN(vector_kernels, VECTOR_LEVEL);
const vector_kernels JOIN(vector_kernels, VECTOR_LEVEL) = {
    .name = TEXT(VECTOR_LEVEL),
    .pack32 = pack32,
    .pack64 = pack64,
    .unpack = {unpack8, unpack16, unpack32, unpack64},
    .gather = {gather8, gather16, gather32, gather64},
    .greatest = greatest,
    .widen8 = widen8,
    .widen16 = widen16,
    .expand = expand,
    .range32 = range32,
    .range64 = range64,
    .bitmap32 = bitmap32,
    .bitmap64 = bitmap64,
    .sieve32 = sieve32,
    .sieve64 = sieve64,
    .floats = floats,
    .doubles = doubles,
    .mask = mask,
    .compact = compact,
    .bounds = bounds,
    .changes = changes,
    .extend32 = extend32,
    .narrow = narrow,
    .flags = flags,
    .bound_ids = bound_ids,
};
