/* The dictionary of a chunk while it is encoded: distinct values, numbered in the order in which
 * they came. It takes no more entries once it is full. */
#ifndef OAP_VECTOR_DICTIONARY_H
#define OAP_VECTOR_DICTIONARY_H

#include "oap_vector.h"

#define VECTOR_MOST_DICTIONARY_BYTES (UINT32_C(4) << 20) /* of values of the kind BYTES */
#define VECTOR_ABSENT (-1) /* no code: not there, and not to be added or no room */

typedef struct vector_dictionary {
  bool is_bytes;
  bool is_frozen; /* takes no more entries */
  uint32_t entries;
  uint32_t room;    /* for entries in numbers or starts */
  uint32_t slots;   /* a power of two, or 0 */
  uint32_t *slot;   /* code + 1 at the value's hash or after it; 0: none */
  int64_t *numbers; /* unless is_bytes */
  uint32_t *starts; /* of each entry in bytes, and the end of the last */
  unsigned char *bytes;
  uint32_t bytes_room;
} vector_dictionary;

/* The code of a value, 0 or more. VECTOR_ABSENT: see there; when there was no room it is frozen
 * from now on. ENOMEM. */
int vector_dictionary_number(vector_dictionary *dictionary, int64_t number);
int vector_dictionary_bytes(vector_dictionary *dictionary, const unsigned char *data,
                            uint32_t length);

uint64_t vector_dictionary_memory(const vector_dictionary *dictionary);

/* Gives its memory back; it is empty then, and frozen. */
void vector_dictionary_clear(vector_dictionary *dictionary);

#endif
