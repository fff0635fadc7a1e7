/* What the two files of one set of kernels share. VECTOR_KERNELS is given by CMakeLists.txt: the
 * name of the table, and a prefix for what the files take from each other. */
#ifndef OAP_VECTOR_KERNELS_PART_H
#define OAP_VECTOR_KERNELS_PART_H

#include "vector_kernels.h"

#include <string.h>

#define VECTOR_JOIN2(a, b) a##_##b
#define VECTOR_JOIN(a, b) VECTOR_JOIN2(a, b)
#define VECTOR_TEXT2(a) #a
#define VECTOR_TEXT(a) VECTOR_TEXT2(a)
#define VECTOR_KERNELS VECTOR_JOIN(vector_kernels, VECTOR_LEVEL)
#define VECTOR_KERNELS_NAME VECTOR_TEXT(VECTOR_LEVEL)

#define vector_expand VECTOR_JOIN(vector_expand, VECTOR_LEVEL)
#define vector_range32 VECTOR_JOIN(vector_range32, VECTOR_LEVEL)
#define vector_range64 VECTOR_JOIN(vector_range64, VECTOR_LEVEL)
#define vector_bitmap32 VECTOR_JOIN(vector_bitmap32, VECTOR_LEVEL)
#define vector_bitmap64 VECTOR_JOIN(vector_bitmap64, VECTOR_LEVEL)
#define vector_sieve32 VECTOR_JOIN(vector_sieve32, VECTOR_LEVEL)
#define vector_sieve64 VECTOR_JOIN(vector_sieve64, VECTOR_LEVEL)
#define vector_floats VECTOR_JOIN(vector_floats, VECTOR_LEVEL)
#define vector_doubles VECTOR_JOIN(vector_doubles, VECTOR_LEVEL)
#define vector_mask VECTOR_JOIN(vector_mask, VECTOR_LEVEL)
#define vector_compact VECTOR_JOIN(vector_compact, VECTOR_LEVEL)

extern const vector_kernels VECTOR_KERNELS;

void vector_expand(const uint8_t *bitmap, uint32_t rows, uint8_t *nulls);
void vector_range32(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                    uint8_t *flags);
void vector_range64(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                    uint8_t *flags);
void vector_bitmap32(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                     const uint32_t *bitmap, uint32_t skipped, uint8_t *flags);
void vector_bitmap64(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                     const uint32_t *bitmap, uint32_t skipped, uint8_t *flags);
void vector_sieve32(const uint32_t *values, uint32_t rows, uint32_t low, uint32_t span,
                    uint64_t first, const uint32_t *sieve, unsigned shift, uint8_t *flags);
void vector_sieve64(const uint64_t *values, uint32_t rows, uint64_t low, uint64_t span,
                    uint64_t first, const uint32_t *sieve, unsigned shift, uint8_t *flags);
void vector_floats(const float *values, uint32_t rows, int64_t low, int64_t high, uint8_t *flags);
void vector_doubles(const double *values, uint32_t rows, int64_t low, int64_t high, uint8_t *flags);
void vector_mask(uint8_t *flags, const uint8_t *nulls, uint32_t rows);
uint32_t vector_compact(const uint8_t *flags, uint32_t rows, const uint16_t *in, uint16_t *out);

#endif
