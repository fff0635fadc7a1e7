/*
 * Encodes zones as they come, and chooses later whether the chunk has a dictionary.
 *
 * A zone that would be large without a dictionary gets codes first. They stay unpacked until it is
 * known what the dictionary costs: after TRIAL_ZONES such zones, after EARLY_ZONES when it costs
 * half as much again as none, when it is full, or at the end. If the dictionary is kept, the codes
 * are packed, and later zones use it too, also when it is full and they have no new value. If it is
 * given up, its zones are encoded from the values of their codes. So memory holds only packed
 * zones, a few unpacked codes and the dictionary.
 */
#include "vector/vector_nulls.h"
#include "vector_encoder.h"

#include <errno.h>
#include <stdlib.h>

#define TRIAL_ZONES 16
#define EARLY_ZONES 4 /* that may end the trial */

/* Numbers that pack to this many bits or less do so without a dictionary: it would save little. */
#define SMALL_WIDTH 10

/* Encodes a zone whose codes are known. */
static int code_zone(oap_vector_encoder *e, vector_built *zone, const uint16_t *codes) {
  e->rows.rows = zone->head.rows;
  for (uint32_t i = 0; codes != NULL && i < zone->head.rows; i++) {
    e->rows.code[i] = codes[i];
  }
  vector_choice choice = vector_choose_codes(&e->rows);
  return vector_encode_codes(e->kernels, zone, &e->rows, &choice);
}

/* Encodes a zone from what its codes stand for. */
static int uncode_zone(oap_vector_encoder *e, vector_built *zone) {
  const vector_dictionary *d = &e->dictionary;
  e->rows.rows = zone->head.rows;
  for (uint32_t i = 0; i < zone->head.rows; i++) {
    uint32_t code = zone->codes[i];
    if (d->is_bytes) {
      e->rows.data[i] = d->bytes + d->starts[code];
      e->rows.length[i] = d->starts[code + 1] - d->starts[code];
    } else {
      e->rows.number[i] = d->numbers[code];
    }
  }
  if (zone->head.nulls > 0) {
    vector_nulls_get(e->kernels, zone->payload, zone->head.rows, zone->head.nulls, e->rows.is_null);
  }
  vector_choice choice = vector_choose(e->kernels, &e->rows, &zone->head);
  return vector_encode(e->kernels, zone, &e->rows, &choice);
}

uint64_t vector_dictionary_bytes_of(const oap_vector_encoder *e) {
  const vector_dictionary *d = &e->dictionary;
  if (d->entries == 0) {
    return 0;
  }
  return d->is_bytes ? vector_round(((uint64_t)d->entries + 1) * 4) + d->starts[d->entries]
                     : (uint64_t)d->entries << vector_shift(e->rows.kind);
}

/* What the open zones take with the dictionary, itself included, and without it. */
typedef struct costs {
  uint64_t with;
  uint64_t without;
} costs;

static costs compare(const oap_vector_encoder *e) {
  costs found = {.with = vector_round(vector_dictionary_bytes_of(e))};
  for (uint32_t i = 0; i < e->zone_count; i++) {
    if (e->zones[i].codes != NULL) {
      found.with += e->zones[i].coded_bytes;
      found.without += e->zones[i].uncoded_bytes;
    }
  }
  return found;
}

int vector_choose_dictionary(oap_vector_encoder *e) {
  if (e->is_kept || e->dictionary.entries == 0) {
    return 0;
  }
  costs cost = compare(e);
  e->is_kept = cost.with < cost.without;
  for (uint32_t i = 0; i < e->zone_count; i++) {
    vector_built *zone = &e->zones[i];
    if (zone->codes != NULL) {
      int result = e->is_kept ? code_zone(e, zone, zone->codes) : uncode_zone(e, zone);
      if (result != 0) {
        return result;
      }
      free(zone->codes);
      zone->codes = NULL;
    }
  }
  if (!e->is_kept) {
    vector_dictionary_clear(&e->dictionary);
  }
  return 0;
}

/* Codes of all rows, into rows.code; 1, or VECTOR_ABSENT when a value has none, or -ENOMEM. */
static int find_codes(oap_vector_encoder *e) {
  vector_rows *rows = &e->rows;
  if (e->dictionary.is_frozen && e->dictionary.entries == 0) {
    return VECTOR_ABSENT;
  }
  for (uint32_t i = 0; i < rows->rows; i++) {
    int code = rows->kind == OAP_BYTES
                   ? vector_dictionary_bytes(&e->dictionary, rows->data[i], rows->length[i])
                   : vector_dictionary_number(&e->dictionary, rows->number[i]);
    if (code < 0) {
      return code;
    }
    rows->code[i] = (uint32_t)code;
  }
  return 1;
}

/* Leaves the zone open with its codes. */
static int keep_codes(oap_vector_encoder *e, vector_built *zone, uint64_t coded, uint64_t uncoded) {
  zone->codes = malloc(e->rows.rows * sizeof(*zone->codes));
  if (zone->codes == NULL) {
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < e->rows.rows; i++) {
    zone->codes[i] = (uint16_t)e->rows.code[i];
  }
  zone->coded_bytes = coded;
  zone->uncoded_bytes = uncoded;
  return 0;
}

static bool is_small(const vector_rows *rows, const vector_choice *choice) {
  return choice->encoding == OAP_CONSTANT ||
         (rows->kind != OAP_BYTES && choice->bytes <= vector_packed_bytes(rows->rows, SMALL_WIDTH));
}

/* Whether the trial can end early, because the dictionary grows too fast. */
static bool is_hopeless(const oap_vector_encoder *e) {
  if (e->is_kept || e->tried_zones != EARLY_ZONES) {
    return false;
  }
  costs cost = compare(e);
  return cost.with / 3 >= cost.without / 2;
}

int vector_encode_zone(oap_vector_encoder *e) {
  vector_built *zone = &e->zones[e->zone_count - 1];
  vector_choice plain = vector_choose(e->kernels, &e->rows, &zone->head);
  if (is_small(&e->rows, &plain)) {
    return vector_encode(e->kernels, zone, &e->rows, &plain);
  }
  vector_choice coded = {.bytes = UINT64_MAX};
  int result = find_codes(e);
  if (result == 1) {
    coded = vector_choose_codes(&e->rows);
  } else if (result != VECTOR_ABSENT) {
    return result;
  }
  if (coded.bytes >= plain.bytes) {
    result = vector_encode(e->kernels, zone, &e->rows, &plain);
  } else if (e->is_kept) {
    result = vector_encode_codes(e->kernels, zone, &e->rows, &coded);
  } else {
    result = keep_codes(e, zone, coded.bytes, plain.bytes);
  }
  e->tried_zones++;
  bool is_due = e->tried_zones >= TRIAL_ZONES || e->dictionary.is_frozen || is_hopeless(e);
  return result == 0 && is_due ? vector_choose_dictionary(e) : result;
}
