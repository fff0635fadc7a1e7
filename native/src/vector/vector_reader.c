/*
 * Opening a chunk. Everything that says where something lies is checked here, once: the header, the
 * directory and the dictionary's starts. What is left to check with the values are dictionary
 * codes, the ends of runs and the ends of BYTES, because they cost a pass over the zone.
 */
#include "vector_reader.h"

#include <errno.h>
#include <stdlib.h>

/* Copies part of the chunk, across pieces. */
static void copy_out(const oap_vector *v, uint64_t offset, uint64_t bytes, unsigned char *to) {
  for (uint32_t i = 0; i < v->pieces && bytes > 0; i++) {
    if (offset < v->piece_start[i + 1]) {
      uint64_t room = v->piece_start[i + 1] - offset;
      uint64_t now = bytes < room ? bytes : room;
      memcpy(to, v->piece[i] + (offset - v->piece_start[i]), now);
      to += now;
      offset += now;
      bytes -= now;
    }
  }
}

/* Finds a part that lies within the chunk; puts it together when it crosses pieces. */
static int locate(oap_vector *v, uint64_t offset, uint64_t bytes, const unsigned char **out) {
  uint32_t i = 0;
  while (i + 1 < v->pieces && offset >= v->piece_start[i + 1]) {
    i++;
  }
  if (offset + bytes <= v->piece_start[i + 1]) {
    *out = v->piece[i] + (offset - v->piece_start[i]);
    return 0;
  }
  for (i = 0; i < v->copies; i++) {
    if (v->copy[i].offset == offset && v->copy[i].bytes == bytes) {
      *out = v->copy[i].data;
      return 0;
    }
  }
  if (v->copies == VECTOR_MOST_PIECES - 1) {
    return -EBADMSG; /* parts that lie over each other */
  }
  unsigned char *data = aligned_alloc(VECTOR_ALIGNMENT, vector_round(bytes));
  if (data == NULL) {
    return -ENOMEM;
  }
  copy_out(v, offset, bytes, data);
  v->copy[v->copies++] = (vector_copy){.offset = offset, .bytes = bytes, .data = data};
  *out = data;
  return 0;
}

/* The bytes of a zone's data that its head asks for; UINT64_MAX: what it says is impossible. */
static uint64_t data_bytes(const vector_zone *head, enum oap_kind kind, uint32_t entries) {
  bool is_bytes = kind == OAP_BYTES;
  uint64_t size = UINT64_C(1) << vector_shift(kind);
  switch (head->encoding) {
  case OAP_CONSTANT:
    if (head->width != 0 || ((!is_bytes || head->nulls == head->rows) && head->count != 0)) {
      break;
    }
    return head->count;
  case OAP_PACKED:
    if (is_bytes || head->width < 1 || head->width > size * 8 || head->count != 0) {
      break;
    }
    return vector_packed_bytes(head->rows, head->width);
  case OAP_RUNS:
    if (head->width > (vector_is_float(kind) ? 0 : 8 << vector_run_shift(kind)) ||
        head->count < 1 || head->count > head->rows ||
        (is_bytes && (entries == 0 || (head->width > 0 && head->reference >= entries)))) {
      break;
    }
    return vector_runs_bytes(kind, head->count, head->width);
  case OAP_FREQUENCY:
    if (is_bytes || head->width < 1 || head->width > size * 8 || head->count < 1 ||
        head->count >= head->rows) {
      break;
    }
    return vector_bitmap_bytes(head->rows) + vector_packed_bytes(head->count, head->width);
  case OAP_DICTIONARY:
    if (entries == 0 || head->width < 1 || head->width > 16 || head->reference >= entries ||
        head->count != 0) {
      break;
    }
    return vector_packed_bytes(head->rows, head->width);
  case OAP_PLAIN:
    if (head->width > (is_bytes ? 31 : 0) || (!is_bytes && head->count != 0) ||
        (is_bytes && head->width == 0 && head->count % head->rows != 0)) {
      break;
    }
    return is_bytes ? vector_packed_bytes(head->rows, head->width) + head->count
                    : head->rows * size;
  default:
    break;
  }
  return UINT64_MAX;
}

static bool is_right_zone(const oap_vector *v, uint32_t i, uint64_t first, uint64_t end) {
  const vector_zone *head = &v->zone[i];
  bool is_last = i + 1 == v->zones;
  if (head->rows < 1 || head->rows > OAP_ZONE_ROWS || (!is_last && head->rows != OAP_ZONE_ROWS) ||
      head->nulls > head->rows || head->zero != 0 || head->zero8 != 0 ||
      (head->encoding != OAP_FREQUENCY && head->common != 0) ||
      head->count > VECTOR_MOST_ZONE_BYTES ||
      (head->nulls == head->rows && head->encoding != OAP_CONSTANT)) {
    return false;
  }
  uint64_t bytes = data_bytes(head, v->kind, v->entries);
  if (bytes == UINT64_MAX || head->bytes != vector_nulls_bytes(head->rows, head->nulls) + bytes) {
    return false;
  }
  return head->bytes == 0 || (head->offset % VECTOR_ALIGNMENT == 0 && head->offset >= first &&
                              head->offset <= end && head->bytes <= end - head->offset);
}

static int open_dictionary(oap_vector *v, const vector_header *header, uint64_t first) {
  v->entries = header->dictionary_entries;
  uint64_t offset = header->dictionary_offset, bytes = header->dictionary_bytes;
  if (v->entries == 0) {
    return offset == 0 && bytes == 0 ? 0 : -EBADMSG;
  }
  uint64_t starts = v->kind == OAP_BYTES ? vector_round(((uint64_t)v->entries + 1) * 4) : 0;
  uint64_t least = v->kind == OAP_BYTES ? starts : (uint64_t)v->entries << vector_shift(v->kind);
  if (v->entries > OAP_MOST_DICTIONARY || offset % VECTOR_ALIGNMENT != 0 || offset < first ||
      offset > header->bytes || bytes > header->bytes - offset || bytes < least) {
    return -EBADMSG;
  }
  const unsigned char *data;
  int result = locate(v, offset, bytes, &data);
  if (result != 0) {
    return result;
  }
  v->dictionary = data + starts;
  if (v->kind == OAP_BYTES) {
    v->starts = (const uint32_t *)(const void *)data;
    bool is_ascending = v->starts[0] == 0 && v->starts[v->entries] == bytes - starts;
    for (uint32_t i = 0; i < v->entries; i++) {
      is_ascending &= v->starts[i] <= v->starts[i + 1];
    }
    return is_ascending && bytes - starts <= VECTOR_MOST_ZONE_BYTES ? 0 : -EBADMSG;
  }
  return 0;
}

static int check(oap_vector *v) {
  uint64_t bytes = v->piece_start[v->pieces];
  vector_header header;
  if (bytes < sizeof(header)) {
    return -EBADMSG;
  }
  copy_out(v, 0, sizeof(header), (unsigned char *)&header);
  if (header.magic != VECTOR_MAGIC || header.version != VECTOR_VERSION || header.kind < OAP_I8 ||
      header.kind > OAP_BYTES || header.zero != 0 || header.zero4 != 0 || header.zeros[0] != 0 ||
      header.zeros[1] != 0 || header.bytes != bytes || header.rows > VECTOR_MOST_ROWS ||
      header.zones != (header.rows + (uint64_t)OAP_ZONE_ROWS - 1) / OAP_ZONE_ROWS) {
    return -EBADMSG;
  }
  v->kind = (enum oap_kind)header.kind;
  v->rows = header.rows;
  v->zones = header.zones;
  uint64_t directory = (uint64_t)v->zones * sizeof(vector_zone);
  if (directory > bytes - sizeof(header)) {
    return -EBADMSG;
  }
  if (v->zones == 0) {
    return header.dictionary_entries == 0 && bytes == sizeof(header) ? 0 : -EBADMSG;
  }
  const unsigned char *zones;
  int result = locate(v, sizeof(header), directory, &zones);
  if (result != 0) {
    return result;
  }
  v->zone = (const vector_zone *)(const void *)zones;
  uint64_t first = sizeof(header) + directory;
  result = open_dictionary(v, &header, first);
  for (uint32_t i = 0; i < v->zones && result == 0; i++) {
    result = is_right_zone(v, i, first, bytes) ? 0 : -EBADMSG;
  }
  bool is_sum = (uint64_t)(v->zones - 1) * OAP_ZONE_ROWS + v->zone[v->zones - 1].rows == v->rows;
  return result == 0 && !is_sum ? -EBADMSG : result;
}

int oap_vector_open(const unsigned char *const *pieces, const uint64_t *piece_bytes, uint32_t count,
                    oap_vector **out) {
  if (count < 1 || count > VECTOR_MOST_PIECES) {
    return -EINVAL;
  }
  oap_vector *v = malloc(sizeof(*v));
  if (v == NULL) {
    return -ENOMEM;
  }
  /* All but the scratch, which is large and needs no value. */
  memset(v, 0, offsetof(oap_vector, values));
  v->kernels = vector_kernels_best();
  v->pieces = count;
  int result = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_last = i + 1 == count;
    v->piece[i] = pieces[i];
    v->piece_start[i + 1] = v->piece_start[i] + piece_bytes[i];
    if ((uintptr_t)pieces[i] % VECTOR_ALIGNMENT != 0 || piece_bytes[i] > (uint64_t)INT64_MAX / 4 ||
        (!is_last && piece_bytes[i] % VECTOR_ALIGNMENT != 0)) {
      result = -EINVAL;
    }
  }
  result = result == 0 ? check(v) : result;
  if (result != 0) {
    oap_vector_close(v);
    return result;
  }
  *out = v;
  return 0;
}

void oap_vector_close(oap_vector *v) {
  if (v == NULL) {
    return;
  }
  for (uint32_t i = 0; i < v->copies; i++) {
    free(v->copy[i].data);
  }
  free(v);
}

int vector_look(oap_vector *v, bool is_right_kind, uint32_t zone, const uint16_t *rows,
                uint32_t *count, vector_view *out) {
  if (!is_right_kind || zone >= v->zones) {
    return -EINVAL;
  }
  const vector_zone *head = &v->zone[zone];
  if (rows == NULL) {
    *count = head->rows;
  } else if (*count > head->rows || (*count > 0 && rows[*count - 1] >= head->rows)) {
    return -EINVAL;
  }
  *out = (vector_view){.head = head};
  if (head->bytes == 0) {
    return 0;
  }
  const unsigned char *payload;
  int result = locate(v, head->offset, head->bytes, &payload);
  if (result != 0) {
    return result;
  }
  uint64_t nulls = vector_nulls_bytes(head->rows, head->nulls);
  out->nulls = nulls == 0 ? NULL : payload;
  out->data = payload + nulls;
  return 0;
}

enum oap_kind oap_vector_kind(const oap_vector *v) { return v->kind; }
uint32_t oap_vector_rows(const oap_vector *v) { return v->rows; }
uint32_t oap_vector_zones(const oap_vector *v) { return v->zones; }
uint32_t oap_vector_dictionary_entries(const oap_vector *v) { return v->entries; }

int oap_vector_zone(const oap_vector *v, uint32_t zone, oap_zone *out) {
  if (zone >= v->zones) {
    return -EINVAL;
  }
  const vector_zone *head = &v->zone[zone];
  *out = (oap_zone){
      .minimum = head->minimum,
      .maximum = head->maximum,
      .rows = head->rows,
      .nulls = head->nulls,
      .encoding = head->encoding,
      .width = head->width,
      .bytes = head->bytes,
  };
  return 0;
}

int oap_vector_has_codes(const oap_vector *v, uint32_t zone) {
  return zone >= v->zones ? -EINVAL : vector_zone_has_codes(v, &v->zone[zone]);
}
