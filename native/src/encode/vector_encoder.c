/* Takes zones of values in: null rows get the value of a row near them, minimum and maximum are
 * found; vector_choose_dictionary.c does the rest. */
#include "vector_encoder.h"
#include "vector/vector_nulls.h"
#include "vector/vector_order.h"

#include <errno.h>
#include <stdlib.h>

/* Entries of a source's dictionary that are kept, and zones to learn them from: a dictionary that
 * has new ones even later is so large that to learn it costs more than it saves. */
#define MOST_ENTRIES (UINT32_C(1) << 17)
#define MOST_LEARNED_ZONES 16

int oap_vector_encoder_open(enum oap_kind kind, oap_vector_encoder **out) {
  if (kind < OAP_I8 || kind > OAP_BYTES) {
    return -EINVAL;
  }
  oap_vector_encoder *e = calloc(1, sizeof(*e));
  if (e == NULL) {
    return -ENOMEM;
  }
  e->kernels = vector_kernels_best();
  e->rows.kind = kind;
  e->dictionary.is_bytes = kind == OAP_BYTES;
  *out = e;
  return 0;
}

void oap_vector_encoder_close(oap_vector_encoder *e) {
  if (e == NULL) {
    return;
  }
  for (uint32_t i = 0; i < e->zone_count; i++) {
    free(e->zones[i].payload);
    free(e->zones[i].codes);
  }
  vector_dictionary_clear(&e->dictionary);
  vector_source_clear(&e->source);
  free(e->zones);
  free(e);
}

/* Copies the flags, as 0 and 1 and up to a multiple of 8, and returns how many are set. */
static uint16_t take_nulls(oap_vector_encoder *e, const uint8_t *nulls, uint32_t rows) {
  if (nulls == NULL) {
    return 0;
  }
  memset(e->rows.is_null + rows, 0, -rows % 8);
  return (uint16_t)e->kernels->flags(nulls, rows, e->rows.is_null);
}

/* A new zone with its row and null counts and its nulls; ENOMEM. */
static int begin_zone(oap_vector_encoder *e, const uint8_t *nulls, uint32_t rows) {
  if (e->zone_count == e->zone_room) {
    uint32_t room = e->zone_room == 0 ? 16 : e->zone_room * 2;
    vector_built *zones = realloc(e->zones, room * sizeof(*zones));
    if (zones == NULL) {
      return -ENOMEM;
    }
    e->zones = zones;
    e->zone_room = room;
  }
  vector_built *zone = &e->zones[e->zone_count];
  *zone = (vector_built){.head.rows = (uint16_t)rows};
  zone->head.nulls = take_nulls(e, nulls, rows);
  uint64_t bytes = vector_nulls_bytes(rows, zone->head.nulls);
  if (bytes > 0) {
    zone->payload = malloc(bytes);
    if (zone->payload == NULL) {
      return -ENOMEM;
    }
    vector_nulls_put(e->rows.is_null, rows, zone->head.nulls, zone->payload);
  }
  e->rows.rows = rows;
  e->row_count += rows;
  e->zone_count++;
  return 0;
}

static int check_zone(const oap_vector_encoder *e, uint32_t rows, bool is_bytes) {
  bool is_after_short = e->zone_count > 0 && e->zones[e->zone_count - 1].head.rows < OAP_ZONE_ROWS;
  if (e->is_finished || e->has_failed || rows < 1 || rows > OAP_ZONE_ROWS || is_after_short ||
      (e->rows.kind == OAP_BYTES) != is_bytes) {
    return -EINVAL;
  }
  return e->row_count + rows > VECTOR_MOST_ROWS ? -EFBIG : 0;
}

static void fill_null(vector_rows *rows, uint32_t row, uint32_t from) {
  if (rows->kind == OAP_BYTES) {
    rows->data[row] = rows->data[from];
    rows->length[row] = rows->length[from];
  } else {
    rows->number[row] = rows->number[from];
  }
}

/* Copies what a null row stands next to; the first row that is not null fills those before it. */
static void fill_nulls(vector_rows *rows, uint32_t nulls) {
  if (nulls == 0 || nulls == rows->rows) {
    return;
  }
  uint32_t from = 0;
  while (rows->is_null[from]) {
    from++;
  }
  for (uint32_t i = 0; i < from; i++) {
    fill_null(rows, i, from);
  }
  for (uint32_t i = from / 8 * 8; i < rows->rows; i += 8) {
    for (uint64_t eight = vector_eight_flags(rows->is_null + i); eight != 0;) {
      uint32_t row = i + vector_next_flag(&eight);
      if (row > from) {
        fill_null(rows, row, row - 1);
      }
    }
  }
}

static int fail_if(oap_vector_encoder *e, int result) {
  e->has_failed = e->has_failed || result != 0;
  return result;
}

/* Loads values as 64-bit numbers. */
static void load_numbers(const vector_kernels *kernels, vector_rows *rows, const void *values) {
  const int8_t *bytes = values;
  const int16_t *shorts = values;
  const uint32_t *floats = values;
  switch (rows->kind) {
  case OAP_I8:
    for (uint32_t i = 0; i < rows->rows; i++) {
      rows->number[i] = bytes[i];
    }
    return;
  case OAP_I16:
    for (uint32_t i = 0; i < rows->rows; i++) {
      rows->number[i] = shorts[i];
    }
    return;
  case OAP_I32:
    kernels->extend32(values, rows->rows, rows->number);
    return;
  case OAP_F32:
    for (uint32_t i = 0; i < rows->rows; i++) {
      rows->number[i] = floats[i];
    }
    return;
  default:
    memcpy(rows->number, values, rows->rows * sizeof(*rows->number));
  }
}

/* The bits of a value whose place in Spark's order this is; see vector_order.h. */
static int64_t bits_of_order(int64_t order) {
  return order ^ (int64_t)((uint64_t)(order >> 63) >> 1);
}

static void bound_numbers(oap_vector_encoder *e, vector_zone *head) {
  vector_rows *rows = &e->rows;
  if (!vector_is_float(rows->kind)) {
    e->kernels->bounds(rows->number, rows->rows, &head->minimum, &head->maximum);
    return;
  }
  int64_t *order = (int64_t *)rows->packing.wide;
  for (uint32_t i = 0; i < rows->rows; i++) {
    double value;
    if (rows->kind == OAP_F32) {
      float narrow;
      memcpy(&narrow, &rows->number[i], sizeof(narrow));
      value = (double)narrow;
    } else {
      memcpy(&value, &rows->number[i], sizeof(value));
    }
    order[i] = vector_order(value);
  }
  e->kernels->bounds(order, rows->rows, &head->minimum, &head->maximum);
  head->minimum = bits_of_order(head->minimum);
  head->maximum = bits_of_order(head->maximum);
}

/* The first 8 bytes as a big-endian number. */
static uint64_t prefix_of(const unsigned char *data, uint32_t length) {
  uint64_t prefix = 0;
  if (length > 0) {
    memcpy(&prefix, data, length < 8 ? length : 8);
  }
  return __builtin_bswap64(prefix);
}

static void bound_bytes(const vector_rows *rows, vector_zone *head) {
  uint64_t least = UINT64_MAX, greatest = 0;
  for (uint32_t i = 0; i < rows->rows; i++) {
    uint64_t prefix = prefix_of(rows->data[i], rows->length[i]);
    least = prefix < least ? prefix : least;
    greatest = prefix > greatest ? prefix : greatest;
  }
  head->minimum = (int64_t)least;
  head->maximum = (int64_t)greatest;
}

/* Takes entries from the zone whose values are there, before they are encoded. */
static int learn_entries(oap_vector_encoder *e, const uint32_t *ids, bool has_nulls) {
  vector_source *source = &e->source;
  const vector_rows *rows = &e->rows;
  if (++source->learned_zones > MOST_LEARNED_ZONES) {
    vector_source_clear(source);
    source->learned_zones = MOST_LEARNED_ZONES;
    return 0;
  }
  for (uint32_t i = 0; i < rows->rows; i++) {
    bool is_known = ids[i] < source->room && source->is_known[ids[i]] != 0;
    if (is_known || ids[i] >= MOST_ENTRIES || (has_nulls && rows->is_null[i] != 0)) {
      continue;
    }
    bool is_bytes = rows->kind == OAP_BYTES;
    int result = vector_source_make_room(source, ids[i] + 1, is_bytes);
    if (result == 0 && is_bytes) {
      result = vector_source_keep(source, ids[i], rows->data[i], rows->length[i]);
    } else if (result == 0) {
      source->number[ids[i]] = rows->number[i];
    }
    if (result != 0) {
      return result;
    }
    vector_source_note(source, ids[i]);
  }
  return 0;
}

/* Encodes the last zone, whose rows are loaded. Values at null rows are unspecified. */
static int end_zone(oap_vector_encoder *e) {
  vector_zone *head = &e->zones[e->zone_count - 1].head;
  const uint32_t *ids = e->next_ids;
  e->next_ids = NULL;
  int result = ids == NULL ? 0 : learn_entries(e, ids, head->nulls > 0);
  if (result != 0) {
    return fail_if(e, result);
  }
  fill_nulls(&e->rows, head->nulls);
  if (head->nulls < head->rows && e->rows.kind == OAP_BYTES) {
    bound_bytes(&e->rows, head);
  } else if (head->nulls < head->rows) {
    bound_numbers(e, head);
  }
  return fail_if(e, vector_encode_zone(e));
}

int oap_vector_encoder_add(oap_vector_encoder *e, const void *values, const uint8_t *nulls,
                           uint32_t rows) {
  int result = check_zone(e, rows, false);
  if (result != 0 || (result = begin_zone(e, nulls, rows)) != 0) {
    return fail_if(e, result);
  }
  load_numbers(e->kernels, &e->rows, values);
  return end_zone(e);
}

int oap_vector_encoder_add_bytes(oap_vector_encoder *e, const int64_t *addresses,
                                 const int32_t *lengths, const uint8_t *nulls, uint32_t rows) {
  int result = check_zone(e, rows, true);
  if (result != 0 || (result = begin_zone(e, nulls, rows)) != 0) {
    return fail_if(e, result);
  }
  const vector_zone *head = &e->zones[e->zone_count - 1].head;
  uint64_t total = 0;
  for (uint32_t i = 0; i < rows; i++) {
    bool is_null = head->nulls > 0 && e->rows.is_null[i];
    if (!is_null && lengths[i] < 0) {
      return fail_if(e, -EINVAL);
    }
    e->rows.data[i] = is_null ? NULL : (const unsigned char *)(uintptr_t)addresses[i];
    e->rows.length[i] = is_null ? 0 : (uint32_t)lengths[i];
    total += e->rows.length[i];
  }
  if (total > VECTOR_MOST_ZONE_BYTES) {
    return fail_if(e, -EFBIG);
  }
  return end_zone(e);
}

/* The first row that is not null and whose number is not known; else rows. */
static uint32_t first_unknown(const vector_source *source, const uint32_t *ids,
                              const uint8_t *nulls, uint32_t rows) {
  for (uint32_t i = 0; i < rows; i++) {
    bool is_known = ids[i] < source->room && source->is_known[ids[i]] != 0;
    if (!is_known && (nulls == NULL || nulls[i] == 0)) {
      return i;
    }
  }
  return rows;
}

void oap_vector_encoder_learn(oap_vector_encoder *e, const uint32_t *ids) { e->next_ids = ids; }

/* The values that numbers stand for; the number 0 stands where a row is null. */
static uint64_t load_entries(oap_vector_encoder *e, const uint8_t *nulls) {
  vector_rows *rows = &e->rows;
  if (rows->kind != OAP_BYTES) {
    e->kernels->gather[3](e->source.number, rows->code, rows->rows, rows->number);
    return 0;
  }
  uint64_t total = 0;
  for (uint32_t i = 0; i < rows->rows; i++) {
    bool is_null = nulls != NULL && nulls[i] != 0;
    rows->data[i] = is_null ? NULL : e->source.data[rows->code[i]];
    rows->length[i] = is_null ? 0 : e->source.length[rows->code[i]];
    total += rows->length[i];
  }
  return total;
}

int oap_vector_encoder_add_ids(oap_vector_encoder *e, const uint32_t *ids, const uint8_t *nulls,
                               uint32_t rows) {
  const vector_source *source = &e->source;
  int result = check_zone(e, rows, e->rows.kind == OAP_BYTES);
  if (result != 0) {
    return fail_if(e, result);
  }
  if (source->room == 0) {
    return 1;
  }
  /* Writers number entries as they come up: mostly, all below a bound are known. */
  if (e->kernels->bound_ids(ids, nulls, rows, source->known_below, e->rows.code)) {
    if (first_unknown(source, ids, nulls, rows) < rows) {
      return 1;
    }
    (void)e->kernels->bound_ids(ids, nulls, rows, source->room, e->rows.code);
  }
  if ((result = begin_zone(e, nulls, rows)) != 0) {
    return fail_if(e, result);
  }
  if (load_entries(e, nulls) > VECTOR_MOST_ZONE_BYTES) {
    return fail_if(e, -EFBIG);
  }
  return end_zone(e);
}
