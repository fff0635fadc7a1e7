/* Spark's order of floating-point values as an order of integers: NaN is the greatest and equals
 * itself, -0.0 equals 0.0 (org.apache.spark.sql.catalyst.util.SQLOrderingUtil). */
#ifndef OAP_VECTOR_ORDER_H
#define OAP_VECTOR_ORDER_H

#include <stdint.h>
#include <string.h>

static inline int64_t vector_order(double value) {
  double plain = value + 0.0; /* -0.0 becomes 0.0 */
  int64_t bits;
  memcpy(&bits, &plain, sizeof(bits));
  int64_t order = bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
  return plain != plain ? INT64_C(0x7ff8000000000000) : order;
}

#endif
