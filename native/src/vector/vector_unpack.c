/* Values out of zones: whole zones with the kernels; a few rows one by one, out of the same packed
 * words. */
#include "vector_nulls.h"
#include "vector_reader.h"

#include <errno.h>

/* From one row in so many on, unpacking all of them and picking is faster. */
#define FEW 6

#define PICK(bits)                                                                                 \
  static void pick##bits(const void *from, const uint16_t *rows, uint32_t count, void *values) {   \
    const uint##bits##_t *in = from;                                                               \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < count; i++) {                                                         \
      out[i] = in[rows[i]];                                                                        \
    }                                                                                              \
  }

#define PICK_PACKED(bits)                                                                          \
  static void pick_packed##bits(const unsigned char *packed, uint32_t width, uint64_t reference,   \
                                const uint16_t *rows, uint32_t count, void *values) {              \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < count; i++) {                                                         \
      out[i] = (uint##bits##_t)(reference + vector_packed_at(packed, width, rows[i]));             \
    }                                                                                              \
  }

#define FILL(bits)                                                                                 \
  static void fill##bits(uint64_t value, uint32_t count, void *values) {                           \
    uint##bits##_t *out = values;                                                                  \
    for (uint32_t i = 0; i < count; i++) {                                                         \
      out[i] = (uint##bits##_t)value;                                                              \
    }                                                                                              \
  }

PICK(8)
PICK(16)
PICK(32)
PICK(64)
PICK_PACKED(8)
PICK_PACKED(16)
PICK_PACKED(32)
PICK_PACKED(64)
FILL(8)
FILL(16)
FILL(32)
FILL(64)

void vector_pick(unsigned shift, const void *from, const uint16_t *rows, uint32_t count,
                 void *values) {
  static void (*const pick[])(const void *, const uint16_t *, uint32_t, void *) = {pick8, pick16,
                                                                                   pick32, pick64};
  pick[shift](from, rows, count, values);
}

void vector_fill(unsigned shift, uint64_t value, uint32_t count, void *values) {
  static void (*const fill[])(uint64_t, uint32_t, void *) = {fill8, fill16, fill32, fill64};
  fill[shift](value, count, values);
}

/* Rows one by one. */
static void pick_packed(unsigned shift, const unsigned char *packed, const vector_zone *head,
                        uint64_t reference, const uint16_t *rows, uint32_t count, void *values) {
  static void (*const pick[])(const unsigned char *, uint32_t, uint64_t, const uint16_t *, uint32_t,
                              void *) = {pick_packed8, pick_packed16, pick_packed32, pick_packed64};
  pick[shift](packed, head->width, reference, rows, count, values);
}

void vector_unpack_packed(const oap_vector *v, const vector_view *view, const unsigned char *packed,
                          uint64_t reference, unsigned shift, const uint16_t *rows, uint32_t count,
                          void *values) {
  uint32_t width = view->head->width, all = view->head->rows;
  if (rows == NULL) {
    v->kernels->unpack[shift](packed, width, reference, all, values);
  } else if (count <= all / FEW) {
    pick_packed(shift, packed, view->head, reference, rows, count, values);
  } else {
    uint64_t whole[OAP_ZONE_ROWS];
    v->kernels->unpack[shift](packed, width, reference, all, whole);
    vector_pick(shift, whole, rows, count, values);
  }
}

int vector_runs_of(const vector_view *view, const uint16_t *rows, uint32_t count, uint32_t *runs) {
  const uint16_t *ends = (const uint16_t *)(const void *)view->data;
  uint32_t last = view->head->count - 1;
  if (ends[last] != view->head->rows) {
    return -EBADMSG;
  }
  if (rows != NULL) {
    for (uint32_t i = 0, run = 0; i < count; i++) {
      while (run < last && ends[run] <= rows[i]) {
        run++;
      }
      runs[i] = run;
    }
    return 0;
  }
  for (uint32_t run = 0, row = 0; run <= last; run++) {
    if (ends[run] <= row || ends[run] > view->head->rows) {
      return -EBADMSG;
    }
    for (; row < ends[run]; row++) {
      runs[row] = run;
    }
  }
  return 0;
}

/* values[i] = that of run runs[i], of 1 << shift bytes. values may be runs. */
static void gather_runs(const oap_vector *v, const vector_view *view, unsigned shift,
                        const uint32_t *runs, uint32_t count, void *values) {
  const vector_zone *head = view->head;
  const unsigned char *of_runs = vector_run_values(view);
  uint64_t unpacked[OAP_ZONE_ROWS];
  if (head->width > 0 && count <= head->count / FEW) {
    uint16_t few[OAP_ZONE_ROWS / FEW];
    for (uint32_t i = 0; i < count; i++) {
      few[i] = (uint16_t)runs[i];
    }
    pick_packed(shift, of_runs, head, head->reference, few, count, values);
    return;
  }
  if (head->width > 0) {
    v->kernels->unpack[shift](of_runs, head->width, head->reference, head->count, unpacked);
    of_runs = (const unsigned char *)unpacked;
  }
  v->kernels->gather[shift](of_runs, runs, count, values);
}

int vector_unpack_codes(oap_vector *v, const vector_view *view, const uint16_t *rows,
                        uint32_t count, uint32_t *codes) {
  if (view->head->encoding == OAP_RUNS) {
    int result = vector_runs_of(view, rows, count, codes);
    if (result != 0) {
      return result;
    }
    if (view->head->width > 0) {
      gather_runs(v, view, 2, codes, count, codes);
    } else {
      const uint16_t *run_codes = (const uint16_t *)(const void *)vector_run_values(view);
      for (uint32_t i = 0; i < count; i++) {
        codes[i] = run_codes[codes[i]];
      }
    }
  } else {
    vector_unpack_packed(v, view, view->data, view->head->reference, 2, rows, count, codes);
  }
  return v->kernels->greatest(codes, count) < v->entries ? 0 : -EBADMSG;
}

int vector_unpack_values(oap_vector *v, const vector_view *view, const uint16_t *rows,
                         uint32_t count, void *values) {
  unsigned shift = vector_shift(v->kind);
  const vector_zone *head = view->head;
  int result = 0;
  switch (head->encoding) {
  case OAP_CONSTANT:
    vector_fill(shift, head->reference, count, values);
    return 0;
  case OAP_PACKED:
    vector_unpack_packed(v, view, view->data, head->reference, shift, rows, count, values);
    return 0;
  case OAP_RUNS:
    result = vector_runs_of(view, rows, count, v->codes);
    if (result == 0) {
      gather_runs(v, view, shift, v->codes, count, values);
    }
    return result;
  case OAP_FREQUENCY:
    return vector_unpack_frequency(v, view, rows, count, values);
  case OAP_DICTIONARY:
    result = vector_unpack_codes(v, view, rows, count, v->codes);
    if (result == 0) {
      v->kernels->gather[shift](v->dictionary, v->codes, count, values);
    }
    return result;
  default:
    if (rows == NULL) {
      memcpy(values, view->data, (size_t)count << shift);
    } else {
      vector_pick(shift, view->data, rows, count, values);
    }
    return 0;
  }
}

uint32_t vector_unpack_nulls(const oap_vector *v, const vector_view *view, const uint16_t *rows,
                             uint32_t count, uint8_t *nulls) {
  const vector_zone *head = view->head;
  if (view->nulls == NULL) {
    bool is_null = head->nulls > 0;
    memset(nulls, is_null, count);
    return is_null ? count : 0;
  }
  if (rows == NULL) {
    vector_nulls_get(v->kernels, view->nulls, head->rows, head->nulls, nulls);
    return head->nulls;
  }
  if (vector_nulls_are_listed(head->rows, head->nulls)) {
    vector_nulls_find(view->nulls, head->nulls, rows, count, nulls);
  } else if (count > head->rows / FEW) {
    uint8_t whole[OAP_ZONE_ROWS];
    v->kernels->expand(view->nulls, head->rows, whole);
    vector_pick(0, whole, rows, count, nulls);
  } else {
    for (uint32_t i = 0; i < count; i++) {
      nulls[i] = view->nulls[rows[i] / 8] >> rows[i] % 8 & 1;
    }
  }
  uint32_t found = 0;
  for (uint32_t i = 0; i < count; i++) {
    found += nulls[i];
  }
  return found;
}

int oap_vector_unpack(oap_vector *v, uint32_t zone, const uint16_t *rows, uint32_t count,
                      void *values, uint8_t *nulls) {
  vector_view view;
  int result = vector_look(v, v->kind != OAP_BYTES, zone, rows, &count, &view);
  if (result == 0) {
    result = vector_unpack_values(v, &view, rows, count, values);
  }
  if (result != 0) {
    return result;
  }
  return (int)vector_unpack_nulls(v, &view, rows, count, nulls == NULL ? v->nulls : nulls);
}

static void put_entries(const oap_vector *v, const uint32_t *codes, uint32_t count,
                        int64_t *addresses, int32_t *lengths) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t code = codes == NULL ? i : codes[i];
    addresses[i] = (int64_t)(uintptr_t)(v->dictionary + v->starts[code]);
    lengths[i] = (int32_t)(v->starts[code + 1] - v->starts[code]);
  }
}

/* Values of one length each, or of lengths by their ends. */
static int put_plain(oap_vector *v, const vector_view *view, const uint16_t *rows, uint32_t count,
                     int64_t *addresses, int32_t *lengths) {
  const vector_zone *head = view->head;
  int64_t bytes = (int64_t)(uintptr_t)(view->data + vector_packed_bytes(head->rows, head->width));
  if (head->width == 0) {
    uint32_t length = head->count / head->rows;
    for (uint32_t i = 0; i < count; i++) {
      addresses[i] = bytes + (int64_t)(rows == NULL ? i : rows[i]) * length;
      lengths[i] = (int32_t)length;
    }
    return 0;
  }
  bool is_packed = rows != NULL && count <= head->rows / FEW;
  if (!is_packed) {
    v->kernels->unpack[2](view->data, head->width, 0, head->rows, v->codes);
  }
  bool is_right = true;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t row = rows == NULL ? i : rows[i], start = 0, end;
    if (is_packed) {
      start = row == 0 ? 0 : (uint32_t)vector_packed_at(view->data, head->width, row - 1);
      end = (uint32_t)vector_packed_at(view->data, head->width, row);
    } else {
      start = row == 0 ? 0 : v->codes[row - 1];
      end = v->codes[row];
    }
    is_right &= (start <= end) & (end <= head->count);
    addresses[i] = bytes + start;
    lengths[i] = (int32_t)(end - start);
  }
  return is_right ? 0 : -EBADMSG;
}

int oap_vector_unpack_bytes(oap_vector *v, uint32_t zone, const uint16_t *rows, uint32_t count,
                            int64_t *addresses, int32_t *lengths, uint8_t *nulls) {
  vector_view view;
  int result = vector_look(v, v->kind == OAP_BYTES, zone, rows, &count, &view);
  if (result != 0) {
    return result;
  }
  if (vector_zone_has_codes(v, view.head)) {
    result = vector_unpack_codes(v, &view, rows, count, v->codes);
    if (result == 0) {
      put_entries(v, v->codes, count, addresses, lengths);
    }
  } else if (view.head->encoding == OAP_CONSTANT) {
    const unsigned char *data = view.data == NULL ? v->piece[0] : view.data;
    for (uint32_t i = 0; i < count; i++) {
      addresses[i] = (int64_t)(uintptr_t)data;
      lengths[i] = (int32_t)view.head->count;
    }
  } else {
    result = put_plain(v, &view, rows, count, addresses, lengths);
  }
  if (result != 0) {
    return result;
  }
  return (int)vector_unpack_nulls(v, &view, rows, count, nulls == NULL ? v->nulls : nulls);
}

int oap_vector_dictionary(const oap_vector *v, void *values) {
  if (v->kind == OAP_BYTES) {
    return -EINVAL;
  }
  if (v->entries > 0) {
    memcpy(values, v->dictionary, (size_t)v->entries << vector_shift(v->kind));
  }
  return 0;
}

int oap_vector_dictionary_bytes(const oap_vector *v, int64_t *addresses, int32_t *lengths) {
  if (v->kind != OAP_BYTES) {
    return -EINVAL;
  }
  put_entries(v, NULL, v->entries, addresses, lengths);
  return 0;
}
