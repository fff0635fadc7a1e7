/*
 * The tier's index: from a key to where its chunk lies in the file. Entries have fixed numbers, so
 * many for each segment, from 1 on; 0 is none. Hash chains lead to them by key and by file. The
 * tier's lock guards all of it.
 */
#ifndef OAP_TIER_INDEX_H
#define OAP_TIER_INDEX_H

#include <stdint.h>

/* A segment that has so many chunks is full: where they are small on average, room on the disk is
 * left unused, rather than memory used for an index that few need. */
#define OAP_TIER_ENTRIES 2048

typedef struct oap_tier_entry {
  uint64_t key[4];
  uint64_t content; /* hash of key, bytes and note */
  uint64_t note;
  uint32_t bytes; /* 0: no chunk */
  uint32_t block; /* where it starts in the file */
  uint32_t next;
  uint32_t previous;
  uint32_t file_next;
  uint32_t file_previous;
  uint32_t hits; /* since it was written */
} oap_tier_entry;

typedef struct oap_tier_index {
  oap_tier_entry *entries; /* by number */
  uint32_t *heads;
  uint32_t *file_heads;
  uint32_t mask; /* of both */
  uint64_t chunks;
  uint64_t bytes;
  void *table;
  uint64_t table_bytes;
} oap_tier_index;

/* 0 or -errno. */
int oap_tier_index_open(oap_tier_index *index, uint64_t segments);
void oap_tier_index_close(oap_tier_index *index);

/* The first entry of the i-th segment. */
static inline uint32_t oap_tier_first_of(uint32_t segment) {
  return segment * OAP_TIER_ENTRIES + 1;
}

/* The entry of a key; 0: there is none. */
uint32_t oap_tier_index_find(const oap_tier_index *index, const uint64_t key[4]);

/* Any entry of a file; 0: there is none. */
uint32_t oap_tier_index_of_file(const oap_tier_index *index, uint64_t high, uint64_t low);

/* Makes an entry of a key that has none; the caller has filled in all but the links. */
void oap_tier_index_insert(oap_tier_index *index, uint32_t entry);

/* Removes an entry; nothing, if it has no chunk. */
void oap_tier_index_remove(oap_tier_index *index, uint32_t entry);

/* NULL, or what is wrong: for tests. */
const char *oap_tier_index_validate(const oap_tier_index *index);

#endif
