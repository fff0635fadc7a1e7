/* The entries of the dictionary that a column was decoded from, as far as the encoder was told. */
#ifndef OAP_VECTOR_SOURCE_H
#define OAP_VECTOR_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Arrays by number; data and length are those of BYTES, number of all else. Never empty but before
 * the first call of vector_source_make_room. */
typedef struct vector_source {
  uint32_t room;
  uint32_t known_below; /* all entries below this are known */
  uint8_t *is_known;
  int64_t *number;
  const unsigned char **data;
  uint32_t *length;
  uint32_t learned_zones;
  void *blocks; /* memory that data points to, each with a pointer to the one before */
  uint32_t block_left;
  uint64_t memory; /* bytes held in all */
} vector_source;

/* Has places for at least so many entries; ENOMEM. */
int vector_source_make_room(vector_source *source, uint32_t entries, bool is_bytes);

/* The entry is known from now on; it is below room. */
void vector_source_note(vector_source *source, uint32_t entry);

/* Keeps a copy of an entry's bytes; ENOMEM. */
int vector_source_keep(vector_source *source, uint32_t entry, const void *data, uint32_t length);

void vector_source_clear(vector_source *source);

#endif
