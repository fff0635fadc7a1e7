/* Writes a finished chunk: header, zone directory, dictionary, zones, into the pieces of a
 * reservation. See native/VECTOR-CHUNK.md. */
#include "vector_encoder.h"

#include "base/copy.h"

#include <errno.h>

/* Where the next byte of the chunk goes. */
typedef struct place {
  unsigned char *const *pieces;
  const uint64_t *piece_bytes;
  uint64_t at;       /* in the piece */
  uint64_t position; /* in the chunk */
} place;

int oap_vector_encoder_finish(oap_vector_encoder *e, uint64_t *bytes) {
  if (e->has_failed) {
    return -EINVAL;
  }
  if (!e->is_finished) {
    int result = vector_choose_dictionary(e);
    if (result != 0) {
      e->has_failed = true;
      return result;
    }
    uint64_t at = sizeof(vector_header) + (uint64_t)e->zone_count * sizeof(vector_zone);
    e->dictionary_offset = e->is_kept ? at : 0;
    at += e->is_kept ? vector_round(vector_dictionary_bytes_of(e)) : 0;
    for (uint32_t i = 0; i < e->zone_count; i++) {
      vector_zone *head = &e->zones[i].head;
      head->offset = head->bytes == 0 ? 0 : at;
      at += vector_round(head->bytes);
    }
    e->bytes = at;
    e->is_finished = true;
  }
  *bytes = e->bytes;
  return 0;
}

static void put(place *to, const void *data, uint64_t bytes) {
  const unsigned char *from = data;
  to->position += bytes;
  while (bytes > 0) {
    uint64_t room = *to->piece_bytes - to->at;
    uint64_t now = bytes < room ? bytes : room;
    if (now > 0) {
      oap_stream_copy(*to->pieces + to->at, from, now);
    }
    from += now;
    bytes -= now;
    to->at += now;
    if (bytes > 0) {
      to->pieces++;
      to->piece_bytes++;
      to->at = 0;
    }
  }
}

static void fill_up(place *to) {
  static const unsigned char zeros[VECTOR_ALIGNMENT];
  put(to, zeros, vector_round(to->position) - to->position);
}

static void put_dictionary(place *to, const oap_vector_encoder *e) {
  const vector_dictionary *d = &e->dictionary;
  if (d->is_bytes) {
    put(to, d->starts, ((uint64_t)d->entries + 1) * sizeof(*d->starts));
    fill_up(to);
    put(to, d->bytes, d->starts[d->entries]);
  } else {
    uint64_t size = UINT64_C(1) << vector_shift(e->rows.kind);
    for (uint32_t i = 0; i < d->entries; i++) {
      put(to, &d->numbers[i], size);
    }
  }
  fill_up(to);
}

int oap_vector_encoder_write(const oap_vector_encoder *e, unsigned char *const *pieces,
                             const uint64_t *piece_bytes, uint32_t count) {
  uint64_t room = 0;
  for (uint32_t i = 0; i < count; i++) {
    room += piece_bytes[i];
  }
  if (!e->is_finished || room != e->bytes) {
    return -EINVAL;
  }
  vector_header header = {
      .magic = VECTOR_MAGIC,
      .version = VECTOR_VERSION,
      .kind = (uint8_t)e->rows.kind,
      .bytes = e->bytes,
      .rows = (uint32_t)e->row_count,
      .zones = e->zone_count,
      .dictionary_offset = e->dictionary_offset,
      .dictionary_bytes = e->is_kept ? vector_dictionary_bytes_of(e) : 0,
      .dictionary_entries = e->is_kept ? e->dictionary.entries : 0,
  };
  place to = {.pieces = pieces, .piece_bytes = piece_bytes};
  put(&to, &header, sizeof(header));
  for (uint32_t i = 0; i < e->zone_count; i++) {
    put(&to, &e->zones[i].head, sizeof(e->zones[i].head));
  }
  if (e->is_kept) {
    put_dictionary(&to, e);
  }
  for (uint32_t i = 0; i < e->zone_count; i++) {
    put(&to, e->zones[i].payload, e->zones[i].head.bytes);
    fill_up(&to);
  }
  oap_stream_end();
  return 0;
}

uint64_t oap_vector_encoder_memory(const oap_vector_encoder *e) {
  uint64_t bytes = sizeof(*e) + e->zone_room * sizeof(*e->zones) +
                   vector_dictionary_memory(&e->dictionary) + e->source.memory;
  for (uint32_t i = 0; i < e->zone_count; i++) {
    const vector_built *zone = &e->zones[i];
    uint64_t nulls = vector_nulls_bytes(zone->head.rows, zone->head.nulls);
    bytes +=
        zone->codes != NULL ? nulls + zone->head.rows * sizeof(*zone->codes) : zone->head.bytes;
  }
  return bytes;
}
