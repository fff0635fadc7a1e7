/* Decisions about the values of a zone that are not null; shared with vector_select.c. */
#ifndef OAP_VECTOR_DECIDE_H
#define OAP_VECTOR_DECIDE_H

#include "vector_keys.h"
#include "vector_reader.h"

/* In vector_order.h's integers; both ends belong to it. */
typedef struct vector_order_range {
  int64_t low;
  int64_t high;
} vector_order_range;

vector_order_range vector_order_of(const oap_double_range *range);

enum oap_decision vector_decide_range(const vector_zone *head, int64_t low, int64_t high);
enum oap_decision vector_decide_in(const vector_zone *head, const oap_key_set *set);
enum oap_decision vector_decide_order(const vector_zone *head, const vector_order_range *range);

#endif
