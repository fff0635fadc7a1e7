/* Which rows of a zone are null, as it lies in the zone's payload: a bitmap, or where that takes
 * less a list of the rows. */
#ifndef OAP_VECTOR_NULLS_H
#define OAP_VECTOR_NULLS_H

#include "vector_format.h"
#include "vector_kernels.h"

/* Writes the nulls of a zone, vector_nulls_bytes, to out. is_null has 0 or 1 for each row, and 0 up
 * to a multiple of 8 rows. */
void vector_nulls_put(const uint8_t *is_null, uint32_t rows, uint32_t nulls, unsigned char *out);

/* Reads them: a byte for each row, 1 where it is null. Rows beyond the zone that are listed are
 * passed over. */
void vector_nulls_get(const vector_kernels *kernels, const unsigned char *from, uint32_t rows,
                      uint32_t nulls, uint8_t *is_null);

/* Reads those of a list for some rows, ascending: a byte for each. */
void vector_nulls_find(const unsigned char *list, uint32_t nulls, const uint16_t *rows,
                       uint32_t count, uint8_t *is_null);

#endif
