/* Memory of the entries: see vector_source.h. */
#include "vector_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256
#define BLOCK_BYTES 65536

/* Twice the size, the new part zero; the array itself when there is no memory. */
static bool grow(void **array, uint32_t room, uint32_t more, size_t size) {
  unsigned char *grown = realloc(*array, (size_t)more * size);
  if (grown == NULL) {
    return false;
  }
  memset(grown + (size_t)room * size, 0, (size_t)(more - room) * size);
  *array = grown;
  return true;
}

int vector_source_make_room(vector_source *s, uint32_t entries, bool is_bytes) {
  uint32_t room = s->room == 0 ? FIRST_ROOM : s->room;
  while (room < entries) {
    room *= 2;
  }
  if (room == s->room) {
    return 0;
  }
  void *known = s->is_known, *number = s->number, *data = s->data, *length = s->length;
  bool is_done = grow(&known, s->room, room, sizeof(*s->is_known));
  s->is_known = known;
  if (is_bytes) {
    is_done = is_done && grow(&data, s->room, room, sizeof(*s->data)) &&
              grow(&length, s->room, room, sizeof(*s->length));
  } else {
    is_done = is_done && grow(&number, s->room, room, sizeof(*s->number));
  }
  s->number = number;
  s->data = data;
  s->length = length;
  if (!is_done) {
    return -ENOMEM;
  }
  s->memory += (uint64_t)(room - s->room) *
               (sizeof(*s->is_known) +
                (is_bytes ? sizeof(*s->data) + sizeof(*s->length) : sizeof(*s->number)));
  s->room = room;
  return 0;
}

void vector_source_note(vector_source *s, uint32_t entry) {
  s->is_known[entry] = 1;
  while (s->known_below < s->room && s->is_known[s->known_below]) {
    s->known_below++;
  }
}

int vector_source_keep(vector_source *s, uint32_t entry, const void *data, uint32_t length) {
  if (s->blocks == NULL || length > s->block_left) {
    uint32_t bytes = length > BLOCK_BYTES ? length : BLOCK_BYTES;
    void **block = malloc(sizeof(void *) + bytes);
    if (block == NULL) {
      return -ENOMEM;
    }
    *block = s->blocks;
    s->blocks = block;
    s->block_left = bytes;
    s->memory += sizeof(void *) + bytes;
  }
  /* A block is filled from its end, so that what is left tells where. */
  s->block_left -= length;
  unsigned char *kept = (unsigned char *)s->blocks + sizeof(void *) + s->block_left;
  if (length > 0) {
    memcpy(kept, data, length);
  }
  s->data[entry] = kept;
  s->length[entry] = length;
  return 0;
}

void vector_source_clear(vector_source *s) {
  while (s->blocks != NULL) {
    void *before = *(void **)s->blocks;
    free(s->blocks);
    s->blocks = before;
  }
  free(s->is_known);
  free(s->number);
  free(s->data);
  free(s->length);
  *s = (vector_source){0};
}
