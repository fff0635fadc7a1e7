/*
 * The index: from a key to its slot, for readers that take no lock.
 *
 * Hash chains run through the slots. New slots enter at a chain's head, under the lock. A slot that
 * leaves keeps its own link until it is reserved again, so that a reader who stands on it can go
 * on. A reader who was led into another chain, or past a slot that changed meanwhile, sees that by
 * the slot's hash or generation and starts again. So does a reader who meets a slot between its new
 * word and its new link, since the old link is gone by then. So a chunk that stays published is
 * always found.
 *
 * A second set of chains, only used under the lock, leads from a file to all its slots.
 */
#ifndef OAP_INDEX_H
#define OAP_INDEX_H

#include "slot.h"

typedef struct oap_index {
  oap_slot *slots;
  _Atomic uint32_t *heads;
  uint32_t *file_heads;
  uint32_t mask;
  uint32_t file_mask;
  uint32_t most_starts; /* how often a reader starts again at most */
} oap_index;

/* Takes a pin on the published chunk of that key, and counts a use if it is one: its slot, and the
 * word before the pin. 0: not published. No lock needed. */
uint32_t oap_index_pin(const oap_index *index, const oap_hashed_key *key, bool is_use,
                       uint64_t *before);

/* The slot that is visible under that key or being loaded, and the word that says which; or 0. No
 * lock needed; without it the answer may be out of date. 0 also when the reader would start again
 * more often than it may: another process that was killed may have left a slot without a link. */
uint32_t oap_index_find(const oap_index *index, const oap_hashed_key *key, uint64_t *word);

/* Under the lock, for a key under which nothing is visible: the slot under which the same column
 * chunk is visible in another representation, or 0. */
uint32_t oap_index_find_other(const oap_index *index, const oap_hashed_key *key);

/* Asks for what a reservation of that key will look at. No lock needed. */
void oap_index_prefetch(const oap_index *index, const oap_hashed_key *key);

/* Under the lock: takes away the link of a slot whose word is about to become reserved. */
void oap_index_prepare(oap_index *index, uint32_t slot);

/* Under the lock: writes key and hash into a slot whose word has just become reserved, and links
 * it. */
void oap_index_insert(oap_index *index, uint32_t slot, const oap_hashed_key *key);

/* Under the lock: unlinks it from both chains. */
void oap_index_remove(oap_index *index, uint32_t slot);

/* Under the lock: where the chain of a file starts; it may hold other files' slots as well. */
uint32_t oap_index_file(const oap_index *index, uint64_t high, uint64_t low);

/* Under the lock: NULL, or what is wrong with the chains; *count gets the number of slots. */
const char *oap_index_validate(const oap_index *index, uint32_t top, uint32_t *count);

#endif
