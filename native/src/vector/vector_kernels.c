/*
 * Packing and unpacking: see vector_kernels.h. Written so that the compiler turns every inner loop
 * over lanes into vector instructions of whatever width it is told to; CMakeLists.txt compiles this
 * file once per kind of processor, with VECTOR_KERNELS as the name of the table.
 */
#include "vector_kernels_part.h"

#define LANES32 16
#define LANES64 8

static void pack32(const uint32_t *values, uint32_t blocks, uint32_t width, void *packed) {
  uint32_t *out = packed;
  for (uint32_t b = 0; b < blocks; b++, out += LANES32 * width, values += 512) {
    memset(out, 0, (size_t)LANES32 * width * sizeof(*out));
    for (uint32_t j = 0; j < 32; j++) {
      uint32_t bit = j * width, shift = bit % 32;
      uint32_t *low = out + bit / 32 * LANES32;
      const uint32_t *in = values + j * LANES32;
      for (int lane = 0; lane < LANES32; lane++) {
        low[lane] |= in[lane] << shift;
      }
      if (shift + width > 32) {
        for (int lane = 0; lane < LANES32; lane++) {
          low[LANES32 + lane] = in[lane] >> (32 - shift);
        }
      }
    }
  }
}

static void pack64(const uint64_t *values, uint32_t blocks, uint32_t width, void *packed) {
  uint64_t *out = packed;
  for (uint32_t b = 0; b < blocks; b++, out += LANES64 * width, values += 512) {
    memset(out, 0, (size_t)LANES64 * width * sizeof(*out));
    for (uint32_t j = 0; j < 64; j++) {
      uint32_t bit = j * width, shift = bit % 64;
      uint64_t *low = out + bit / 64 * LANES64;
      const uint64_t *in = values + j * LANES64;
      for (int lane = 0; lane < LANES64; lane++) {
        low[lane] |= in[lane] << shift;
      }
      if (shift + width > 64) {
        for (int lane = 0; lane < LANES64; lane++) {
          low[LANES64 + lane] = in[lane] >> (64 - shift);
        }
      }
    }
  }
}

/* One block of 512 values from lanes of 32 bits, to values of another size. */
#define UNPACK_BLOCK32(bits)                                                                       \
  static inline void block_to##bits(const uint32_t *restrict in, uint32_t width,                   \
                                    uint##bits##_t reference, uint##bits##_t *restrict out) {      \
    uint32_t mask = UINT32_MAX >> (32 - width);                                                    \
    for (uint32_t j = 0; j < 32; j++) {                                                            \
      uint32_t bit = j * width, shift = bit % 32;                                                  \
      const uint32_t *low = in + bit / 32 * LANES32;                                               \
      if (shift + width <= 32) {                                                                   \
        for (int lane = 0; lane < LANES32; lane++) {                                               \
          out[lane] = (uint##bits##_t)(reference + (uint##bits##_t)(low[lane] >> shift & mask));   \
        }                                                                                          \
      } else {                                                                                     \
        for (int lane = 0; lane < LANES32; lane++) {                                               \
          uint32_t both = low[lane] >> shift | low[LANES32 + lane] << (32 - shift);                \
          out[lane] = (uint##bits##_t)(reference + (uint##bits##_t)(both & mask));                 \
        }                                                                                          \
      }                                                                                            \
      out += LANES32;                                                                              \
    }                                                                                              \
  }

UNPACK_BLOCK32(8)
UNPACK_BLOCK32(16)
UNPACK_BLOCK32(32)
UNPACK_BLOCK32(64)

static inline void wide_block_to64(const uint64_t *restrict in, uint32_t width, uint64_t reference,
                                   uint64_t *restrict out) {
  uint64_t mask = UINT64_MAX >> (64 - width);
  for (uint32_t j = 0; j < 64; j++) {
    uint32_t bit = j * width, shift = bit % 64;
    const uint64_t *low = in + bit / 64 * LANES64;
    if (shift + width <= 64) {
      for (int lane = 0; lane < LANES64; lane++) {
        out[lane] = reference + (low[lane] >> shift & mask);
      }
    } else {
      for (int lane = 0; lane < LANES64; lane++) {
        uint64_t both = low[lane] >> shift | low[LANES64 + lane] << (64 - shift);
        out[lane] = reference + (both & mask);
      }
    }
    out += LANES64;
  }
}

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

static void widen8(const void *values, uint32_t rows, uint32_t *wide) {
  const int8_t *in = values;
  for (uint32_t i = 0; i < rows; i++) {
    wide[i] = (uint32_t)(int32_t)in[i];
  }
}

static void widen16(const void *values, uint32_t rows, uint32_t *wide) {
  const int16_t *in = values;
  for (uint32_t i = 0; i < rows; i++) {
    wide[i] = (uint32_t)(int32_t)in[i];
  }
}

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

const vector_kernels VECTOR_KERNELS = {
    .name = VECTOR_KERNELS_NAME,
    .pack32 = pack32,
    .pack64 = pack64,
    .unpack = {unpack8, unpack16, unpack32, unpack64},
    .gather = {gather8, gather16, gather32, gather64},
    .greatest = greatest,
    .widen8 = widen8,
    .widen16 = widen16,
    .expand = vector_expand,
    .range32 = vector_range32,
    .range64 = vector_range64,
    .bitmap32 = vector_bitmap32,
    .bitmap64 = vector_bitmap64,
    .sieve32 = vector_sieve32,
    .sieve64 = vector_sieve64,
    .floats = vector_floats,
    .doubles = vector_doubles,
    .mask = vector_mask,
    .compact = vector_compact,
    .bounds = bounds,
    .changes = changes,
    .extend32 = extend32,
    .narrow = narrow,
    .flags = flags,
    .bound_ids = bound_ids,
};
