/* A hash table with open addressing over the entries: see vector_dictionary.h. */
#include "vector_dictionary.h"

#include "base/arithmetic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

static uint64_t hash_bytes(const unsigned char *data, uint32_t length) {
  uint64_t hash = length;
  for (; length >= 8; length -= 8, data += 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    hash = oap_mix(hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
  }
  uint64_t rest = 0;
  if (length > 0) {
    memcpy(&rest, data, length);
  }
  return oap_mix(hash ^ rest);
}

static uint64_t hash_entry(const vector_dictionary *d, uint32_t code) {
  return d->is_bytes ? hash_bytes(d->bytes + d->starts[code], d->starts[code + 1] - d->starts[code])
                     : oap_mix((uint64_t)d->numbers[code]);
}

/* Twice the room, and four slots per entry and more. */
static int grow(vector_dictionary *d) {
  uint32_t room = d->room == 0 ? FIRST_ROOM : d->room * 2;
  if (d->is_bytes) {
    uint32_t *starts = realloc(d->starts, ((size_t)room + 1) * sizeof(*starts));
    if (starts == NULL) {
      return -ENOMEM;
    }
    starts[0] = 0;
    d->starts = starts;
  } else {
    int64_t *numbers = realloc(d->numbers, room * sizeof(*numbers));
    if (numbers == NULL) {
      return -ENOMEM;
    }
    d->numbers = numbers;
  }
  uint32_t *slot = calloc((size_t)room * 4, sizeof(*slot));
  if (slot == NULL) {
    return -ENOMEM;
  }
  free(d->slot);
  d->slot = slot;
  d->slots = room * 4;
  d->room = room;
  for (uint32_t code = 0; code < d->entries; code++) {
    uint64_t at = hash_entry(d, code);
    while (slot[at & (d->slots - 1)] != 0) {
      at++;
    }
    slot[at & (d->slots - 1)] = code + 1;
  }
  return 0;
}

/* Whether a value of so many bytes may be added now; 1, VECTOR_ABSENT or -ENOMEM. */
static int make_room(vector_dictionary *d, uint32_t length) {
  if (d->is_frozen) {
    return VECTOR_ABSENT;
  }
  uint32_t used = d->entries == 0 || !d->is_bytes ? 0 : d->starts[d->entries];
  if (d->entries == OAP_MOST_DICTIONARY || length > VECTOR_MOST_DICTIONARY_BYTES - used) {
    d->is_frozen = true;
    return VECTOR_ABSENT;
  }
  if (d->is_bytes && length > d->bytes_room - used) {
    uint32_t room = d->bytes_room * 2 > used + length ? d->bytes_room * 2 : used + length;
    unsigned char *bytes = realloc(d->bytes, room);
    if (bytes == NULL) {
      return -ENOMEM;
    }
    d->bytes = bytes;
    d->bytes_room = room;
  }
  return 1;
}

/* Makes the table ready for a search, and for an entry more; 0, VECTOR_ABSENT or -ENOMEM. */
static int prepare(vector_dictionary *d) {
  if (d->entries == d->room && !d->is_frozen && d->entries < OAP_MOST_DICTIONARY && grow(d) != 0) {
    return -ENOMEM;
  }
  return d->slots == 0 ? VECTOR_ABSENT : 0;
}

/* Numbers the value that was put behind the others, and whose place in the table this is. */
static int add(vector_dictionary *d, uint64_t at) {
  d->slot[at & (d->slots - 1)] = ++d->entries;
  return (int)(d->entries - 1);
}

int vector_dictionary_number(vector_dictionary *d, int64_t number) {
  int result = prepare(d);
  if (result != 0) {
    return result;
  }
  uint64_t at = oap_mix((uint64_t)number);
  for (uint32_t found; (found = d->slot[at & (d->slots - 1)]) != 0; at++) {
    if (d->numbers[found - 1] == number) {
      return (int)(found - 1);
    }
  }
  result = make_room(d, 0);
  if (result != 1) {
    return result;
  }
  d->numbers[d->entries] = number;
  return add(d, at);
}

static bool is_entry(const vector_dictionary *d, uint32_t code, const unsigned char *data,
                     uint32_t length) {
  return d->starts[code + 1] - d->starts[code] == length &&
         (length == 0 || memcmp(d->bytes + d->starts[code], data, length) == 0);
}

int vector_dictionary_bytes(vector_dictionary *d, const unsigned char *data, uint32_t length) {
  int result = prepare(d);
  if (result != 0) {
    return result;
  }
  uint64_t at = hash_bytes(data, length);
  for (uint32_t found; (found = d->slot[at & (d->slots - 1)]) != 0; at++) {
    if (is_entry(d, found - 1, data, length)) {
      return (int)(found - 1);
    }
  }
  result = make_room(d, length);
  if (result != 1) {
    return result;
  }
  if (length > 0) {
    memcpy(d->bytes + d->starts[d->entries], data, length);
  }
  d->starts[d->entries + 1] = d->starts[d->entries] + length;
  return add(d, at);
}

uint64_t vector_dictionary_memory(const vector_dictionary *d) {
  return (uint64_t)d->slots * sizeof(*d->slot) + d->bytes_room +
         (uint64_t)d->room * (d->is_bytes ? sizeof(*d->starts) : sizeof(*d->numbers));
}

void vector_dictionary_clear(vector_dictionary *d) {
  free(d->slot);
  free(d->numbers);
  free(d->starts);
  free(d->bytes);
  *d = (vector_dictionary){.is_bytes = d->is_bytes, .is_frozen = true};
}
