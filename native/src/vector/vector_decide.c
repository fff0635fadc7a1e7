/* What minimum, maximum and null count of a zone decide before its values are touched. */
#include "vector_decide.h"
#include "vector_order.h"

#include <errno.h>

/* Of values that are all within bounds, or some of them, or none. */
static enum oap_decision decide(const vector_zone *head, bool meets, bool covers) {
  if (head->nulls == head->rows || !meets) {
    return OAP_NONE;
  }
  return covers ? OAP_ALL : OAP_SOME;
}

enum oap_decision vector_decide_range(const vector_zone *head, int64_t low, int64_t high) {
  return decide(head, low <= high && low <= head->maximum && high >= head->minimum,
                low <= head->minimum && head->maximum <= high);
}

enum oap_decision vector_decide_in(const vector_zone *head, const oap_key_set *set) {
  uint64_t first = vector_keys_below(set, head->minimum);
  bool meets = first < set->size && set->sorted[first] <= head->maximum;
  uint64_t span = (uint64_t)head->maximum - (uint64_t)head->minimum;
  /* Without gaps from minimum to maximum: the key that many places on is the maximum. */
  bool covers = meets && span < set->size - first && set->sorted[first] == head->minimum &&
                set->sorted[first + span] == head->maximum;
  return decide(head, meets, covers);
}

enum oap_decision vector_decide_order(const vector_zone *head, const vector_order_range *range) {
  double minimum, maximum;
  memcpy(&minimum, &head->minimum, sizeof(minimum));
  memcpy(&maximum, &head->maximum, sizeof(maximum));
  int64_t least = vector_order(minimum), greatest = vector_order(maximum);
  return decide(head, range->low <= range->high && range->low <= greatest && range->high >= least,
                range->low <= least && greatest <= range->high);
}

vector_order_range vector_order_of(const oap_double_range *range) {
  /* No value has the greatest or the least number as its order, so nothing overflows. */
  return (vector_order_range){
      .low = vector_order(range->low) + (range->low_is_open ? 1 : 0),
      .high = vector_order(range->high) - (range->high_is_open ? 1 : 0),
  };
}

/* With the nulls, which never match. */
static int with_nulls(const vector_zone *head, enum oap_decision decision) {
  return decision == OAP_ALL && head->nulls > 0 ? OAP_SOME : (int)decision;
}

int oap_vector_decide_in(const oap_vector *v, uint32_t zone, const oap_key_set *set) {
  if (zone >= v->zones || !vector_is_integer(v->kind)) {
    return -EINVAL;
  }
  return with_nulls(&v->zone[zone], vector_decide_in(&v->zone[zone], set));
}

int oap_vector_decide_range(const oap_vector *v, uint32_t zone, int64_t low, int64_t high) {
  if (zone >= v->zones || !vector_is_integer(v->kind)) {
    return -EINVAL;
  }
  return with_nulls(&v->zone[zone], vector_decide_range(&v->zone[zone], low, high));
}

int oap_vector_decide_double_range(const oap_vector *v, uint32_t zone,
                                   const oap_double_range *range) {
  if (zone >= v->zones || !vector_is_float(v->kind)) {
    return -EINVAL;
  }
  vector_order_range order = vector_order_of(range);
  return with_nulls(&v->zone[zone], vector_decide_order(&v->zone[zone], &order));
}

int oap_vector_decide_prefix(const oap_vector *v, uint32_t zone, uint64_t low, uint64_t high) {
  if (zone >= v->zones || v->kind != OAP_BYTES) {
    return -EINVAL;
  }
  const vector_zone *head = &v->zone[zone];
  uint64_t minimum = (uint64_t)head->minimum, maximum = (uint64_t)head->maximum;
  return with_nulls(head, decide(head, low <= high && low <= maximum && high >= minimum,
                                 low <= minimum && maximum <= high));
}
