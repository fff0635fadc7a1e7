/*
 * Filters row by row. Integers are tested as they are packed, without adding the frame of
 * reference: what is compared is shifted instead, modulo 2^32 or 2^64. Runs are tested once each.
 */
#include "vector_decide.h"

#include <errno.h>

/* Integers as they lie in memory: value - base, modulo 2^32, or 2^64 if they are wide. */
typedef struct lanes {
  const void *data;
  uint64_t base;
  bool is_wide;
} lanes;

/* low and high, or the keys of set between them. */
typedef struct integer_test {
  int64_t low;
  int64_t high;
  const oap_key_set *set; /* NULL: a range */
} integer_test;

/* Plain values of the kind's width, widened to one of the two widths that are tested. */
static lanes lanes_of_values(oap_vector *v, const void *values, uint32_t count) {
  lanes out = {.data = values, .is_wide = v->kind == OAP_I64};
  if (v->kind == OAP_I8) {
    v->kernels->widen8(values, count, v->codes);
    out.data = v->codes;
  } else if (v->kind == OAP_I16) {
    v->kernels->widen16(values, count, v->codes);
    out.data = v->codes;
  }
  return out;
}

/* Packed values, to be unpacked without the reference. */
static lanes lanes_of_packed(oap_vector *v, const vector_zone *head) {
  return (lanes){.data = v->values, .base = head->reference, .is_wide = head->width > 32};
}

static int find_lanes(oap_vector *v, const vector_view *view, const uint16_t *rows, uint32_t count,
                      lanes *out) {
  const vector_zone *head = view->head;
  if (head->encoding == OAP_PACKED) {
    *out = lanes_of_packed(v, head);
    vector_unpack_packed(v, view, view->data, 0, out->is_wide ? 3 : 2, rows, count, v->values);
    return 0;
  }
  if (head->encoding == OAP_PLAIN && rows == NULL) {
    *out = lanes_of_values(v, view->data, count);
    return 0;
  }
  int result = vector_unpack_values(v, view, rows, count, v->values);
  if (result == 0) {
    *out = lanes_of_values(v, v->values, count);
  }
  return result;
}

/* Most values fall through the sieve; what stays in it is looked up. flags has room for a multiple
 * of 8. */
static void test_table(const oap_vector *v, const lanes *in, uint32_t count,
                       const integer_test *test, uint8_t *flags) {
  uint64_t first = (uint64_t)test->low, low = first - in->base;
  uint64_t span = (uint64_t)test->high - first;
  const oap_key_set *set = test->set;
  const uint32_t *narrow = in->data;
  const uint64_t *wide = in->data;
  if (in->is_wide) {
    v->kernels->sieve64(wide, count, low, span, first, set->sieve, set->sieve_shift, flags);
  } else {
    v->kernels->sieve32(narrow, count, (uint32_t)low, (uint32_t)span, first, set->sieve,
                        set->sieve_shift, flags);
  }
  memset(flags + count, 0, -count % 8);
  for (uint32_t i = 0; i < count; i += 8) {
    for (uint64_t eight = vector_eight_flags(flags + i); eight != 0;) {
      uint32_t row = i + vector_next_flag(&eight);
      uint64_t above = in->is_wide ? wide[row] - low : narrow[row] - (uint32_t)low;
      flags[row] = vector_table_has(set, (int64_t)(first + above));
    }
  }
}

static void test_lanes(const oap_vector *v, const lanes *in, uint32_t count,
                       const integer_test *test, uint8_t *flags) {
  uint64_t low = (uint64_t)test->low - in->base;
  uint64_t span = (uint64_t)test->high - (uint64_t)test->low;
  if (test->set == NULL || test->set->form == VECTOR_RANGE) {
    if (in->is_wide) {
      v->kernels->range64(in->data, count, low, span, flags);
    } else {
      v->kernels->range32(in->data, count, (uint32_t)low, (uint32_t)span, flags);
    }
  } else if (test->set->form == VECTOR_HASH) {
    test_table(v, in, count, test, flags);
  } else {
    uint32_t skipped = (uint32_t)((uint64_t)test->low - (uint64_t)test->set->minimum);
    const uint32_t *bitmap = test->set->bitmap;
    if (in->is_wide) {
      v->kernels->bitmap64(in->data, count, low, span, bitmap, skipped, flags);
    } else {
      v->kernels->bitmap32(in->data, count, (uint32_t)low, (uint32_t)span, bitmap, skipped, flags);
    }
  }
}

/* Sets the flags of all rows of the runs whose flag is set, of which most are not. */
static int spread_runs(oap_vector *v, const vector_view *view) {
  const uint16_t *ends = (const uint16_t *)(const void *)view->data;
  uint32_t runs = view->head->count;
  memset(v->flags, 0, view->head->rows);
  memset(v->run_flags + runs, 0, -runs % 8);
  for (uint32_t i = 0; i < runs; i += 8) {
    for (uint64_t eight = vector_eight_flags(v->run_flags + i); eight != 0;) {
      uint32_t run = i + vector_next_flag(&eight);
      uint32_t start = run == 0 ? 0 : ends[run - 1];
      if (ends[run] <= start || ends[run] > view->head->rows) {
        return -EBADMSG;
      }
      memset(v->flags + start, 1, ends[run] - start);
    }
  }
  return 0;
}

static lanes lanes_of_runs(oap_vector *v, const vector_view *view) {
  const vector_zone *head = view->head;
  if (head->width == 0) {
    return lanes_of_values(v, vector_run_values(view), head->count);
  }
  lanes out = lanes_of_packed(v, head);
  v->kernels->unpack[out.is_wide ? 3 : 2](vector_run_values(view), head->width, 0, head->count,
                                          v->values);
  return out;
}

/* Tests each run, then gives every row what its run has. */
static int test_runs(oap_vector *v, const vector_view *view, const uint16_t *rows, uint32_t count,
                     const integer_test *test) {
  uint32_t runs = view->head->count;
  lanes in = lanes_of_runs(v, view);
  test_lanes(v, &in, runs, test, v->run_flags);
  if (rows == NULL) {
    return spread_runs(v, view);
  }
  int result = vector_runs_of(view, rows, count, v->codes);
  if (result == 0) {
    v->kernels->gather[0](v->run_flags, v->codes, count, v->flags);
  }
  return result;
}

/* The rows whose flag is set and that are not null. */
static int collect(oap_vector *v, const vector_view *view, const uint16_t *rows, uint32_t count,
                   uint16_t *out) {
  if (view->head->nulls > 0) {
    vector_unpack_nulls(v, view, rows, count, v->nulls);
    v->kernels->mask(v->flags, v->nulls, count);
  }
  return (int)v->kernels->compact(v->flags, count, rows, out);
}

/* All rows given that are null, or that are not. */
static int select_null(oap_vector *v, const vector_view *view, bool is_null, const uint16_t *rows,
                       uint32_t count, uint16_t *out) {
  uint32_t nulls = vector_unpack_nulls(v, view, rows, count, v->flags);
  if ((is_null && nulls == 0) || (!is_null && nulls == count)) {
    return 0;
  }
  if (!is_null) {
    for (uint32_t i = 0; i < count; i++) {
      v->flags[i] ^= 1;
    }
  }
  return (int)v->kernels->compact(v->flags, count, rows, out);
}

/* Sets the flags of a zone's rows by their integers. */
static int test_integers(oap_vector *v, const vector_view *view, integer_test test,
                         const uint16_t *rows, uint32_t count) {
  test.low = test.low > view->head->minimum ? test.low : view->head->minimum;
  test.high = test.high < view->head->maximum ? test.high : view->head->maximum;
  if (view->head->encoding == OAP_RUNS) {
    return test_runs(v, view, rows, count, &test);
  }
  lanes in = {.data = NULL};
  int result = find_lanes(v, view, rows, count, &in);
  if (result == 0) {
    test_lanes(v, &in, count, &test, v->flags);
  }
  return result;
}

static int select_integers(oap_vector *v, uint32_t zone, integer_test test, const uint16_t *rows,
                           uint32_t count, uint16_t *out) {
  vector_view view;
  int result = vector_look(v, vector_is_integer(v->kind), zone, rows, &count, &view);
  if (result != 0) {
    return result;
  }
  enum oap_decision decision = test.set == NULL
                                   ? vector_decide_range(view.head, test.low, test.high)
                                   : vector_decide_in(view.head, test.set);
  if (decision != OAP_SOME) {
    return decision == OAP_NONE ? 0 : select_null(v, &view, false, rows, count, out);
  }
  result = test_integers(v, &view, test, rows, count);
  return result != 0 ? result : collect(v, &view, rows, count, out);
}

int oap_vector_select_in(oap_vector *v, uint32_t zone, const oap_key_set *set, const uint16_t *rows,
                         uint32_t count, uint16_t *out) {
  integer_test test = {.low = set->minimum, .high = set->maximum, .set = set};
  return select_integers(v, zone, test, rows, count, out);
}

int oap_vector_select_range(oap_vector *v, uint32_t zone, int64_t low, int64_t high,
                            const uint16_t *rows, uint32_t count, uint16_t *out) {
  return select_integers(v, zone, (integer_test){.low = low, .high = high}, rows, count, out);
}

int oap_vector_select_double_range(oap_vector *v, uint32_t zone, const oap_double_range *range,
                                   const uint16_t *rows, uint32_t count, uint16_t *out) {
  vector_view view;
  int result = vector_look(v, vector_is_float(v->kind), zone, rows, &count, &view);
  if (result != 0) {
    return result;
  }
  vector_order_range order = vector_order_of(range);
  enum oap_decision decision = vector_decide_order(view.head, &order);
  if (decision != OAP_SOME) {
    return decision == OAP_NONE ? 0 : select_null(v, &view, false, rows, count, out);
  }
  const void *values = v->values;
  if (view.head->encoding == OAP_PLAIN && rows == NULL) {
    values = view.data;
  } else if ((result = vector_unpack_values(v, &view, rows, count, v->values)) != 0) {
    return result;
  }
  if (v->kind == OAP_F32) {
    v->kernels->floats(values, count, order.low, order.high, v->flags);
  } else {
    v->kernels->doubles(values, count, order.low, order.high, v->flags);
  }
  return collect(v, &view, rows, count, out);
}

int oap_vector_select_codes(oap_vector *v, uint32_t zone, const uint8_t *matches,
                            const uint16_t *rows, uint32_t count, uint16_t *out) {
  vector_view view;
  int result = vector_look(v, true, zone, rows, &count, &view);
  if (result == 0) {
    result = vector_zone_has_codes(v, view.head)
                 ? vector_unpack_codes(v, &view, rows, count, v->codes)
                 : -EINVAL;
  }
  if (result != 0) {
    return result;
  }
  v->kernels->gather[0](matches, v->codes, count, v->run_flags);
  (void)v->kernels->flags(v->run_flags, count, v->flags);
  return collect(v, &view, rows, count, out);
}

int oap_vector_select_null(oap_vector *v, uint32_t zone, bool is_null, const uint16_t *rows,
                           uint32_t count, uint16_t *out) {
  vector_view view;
  int result = vector_look(v, true, zone, rows, &count, &view);
  return result != 0 ? result : select_null(v, &view, is_null, rows, count, out);
}
