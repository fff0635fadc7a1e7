/*
 * The slot: all that the pool knows of one chunk, in a table of fixed slots apart from the data.
 *
 * Slots refer to each other by number (0 is "none") and to data by position, never by pointer, so
 * that the table means the same wherever it is mapped.
 *
 * The word is the only part that changes while a chunk is visible. It holds, in one atomic:
 *
 *   generation (32) | unused (1) | was used (1) | unverified (1) | uses (2) | state (3) | pins (24)
 *
 *   FREE -reserve-> LOADING -publish-> PUBLISHED -evict, drop without pins-> FREE
 *                      |                   '-drop with pins-> DROPPED -last unpin-> FREE
 *                      |-abandon-> FREE
 *                      '-drop-> DOOMED -publish-> DROPPED, -abandon-> FREE
 *
 * Where processes share a pool, each counts its pins apart (holders.h), the word counts none, and
 * what is to be evicted is CLAIMED for as long as these counts are looked at.
 *
 * The generation grows each time the slot is reserved. A reader looks at key and chain without a
 * lock and pins with a compare-and-swap on the word, which succeeds only if generation and state
 * are unchanged, and with them all that was read. Writers hold the shard's lock, except for
 * publish, pin and unpin.
 *
 * A table may outlive its process. Then the slots that are published and whose checksum is right
 * are all there is: pins are gone, and what else the table's owner knew is made anew from them
 * (rebuild.h). Such a chunk is unverified until its bytes have been hashed at its first pin.
 */
#ifndef OAP_SLOT_H
#define OAP_SLOT_H

#include "base/arithmetic.h"
#include "oap_pool.h"

#include <stdatomic.h>

enum oap_state { OAP_FREE, OAP_LOADING, OAP_DOOMED, OAP_PUBLISHED, OAP_DROPPED, OAP_CLAIMED };

#define OAP_PINS_MASK UINT64_C(0xFFFFFF)
#define OAP_STATE_SHIFT 24
#define OAP_STATE_MASK (UINT64_C(7) << OAP_STATE_SHIFT)
#define OAP_USES_SHIFT 27
#define OAP_MAX_USES 3
#define OAP_USES_MASK (UINT64_C(3) << OAP_USES_SHIFT)
#define OAP_UNVERIFIED (UINT64_C(1) << 29)
#define OAP_WAS_USED (UINT64_C(1) << 30) /* with uses that were taken since */
#define OAP_GENERATION_SHIFT 32

typedef struct oap_slot {
  /* First cache line: all that a hit on a chunk of one piece touches. */
  _Atomic uint64_t word;
  _Atomic uint64_t key[4];
  _Atomic uint32_t next; /* in the hash chain; stays as it is while the slot is free. See index.h */
  _Atomic uint32_t hash;
  uint64_t bytes;
  uint64_t place; /* position of the first piece, plus the number of pieces */
  /* Second line: only for chunks of several pieces. */
  uint64_t piece_bytes[OAP_MAX_PIECES];
  uint64_t more_positions[OAP_MAX_PIECES - 1];
  uint64_t note; /* the loader's own; written before the chunk is published, never after */
  /* Third line. */
  uint32_t extent[OAP_MAX_PIECES];
  uint32_t queue_previous;
  uint32_t queue_next; /* also links the free slots */
  uint32_t file_previous;
  uint32_t file_next;
  _Atomic uint64_t checksum; /* of key, bytes, pieces, content and generation */
  uint64_t stamp;            /* the policy's own */
  uint32_t queue;            /* which of the policy's queues it stands in */
  uint32_t in_use_at;        /* the policy's own */
  uint64_t content;          /* hash of the chunk, where the table outlives its process; else 0 */
} oap_slot;

_Static_assert(sizeof(oap_slot) == 192, "a slot is three cache lines");

static inline uint32_t oap_word_generation(uint64_t word) {
  return (uint32_t)(word >> OAP_GENERATION_SHIFT);
}

static inline enum oap_state oap_word_state(uint64_t word) {
  return (enum oap_state)((word & OAP_STATE_MASK) >> OAP_STATE_SHIFT);
}

static inline uint64_t oap_word_pins(uint64_t word) { return word & OAP_PINS_MASK; }

static inline unsigned oap_word_uses(uint64_t word) {
  return (unsigned)((word & OAP_USES_MASK) >> OAP_USES_SHIFT);
}

static inline uint64_t oap_word_with_state(uint64_t word, enum oap_state state) {
  return (word & ~OAP_STATE_MASK) | ((uint64_t)state << OAP_STATE_SHIFT);
}

static inline uint64_t oap_word_with_uses(uint64_t word, unsigned uses) {
  return (word & ~OAP_USES_MASK) | ((uint64_t)uses << OAP_USES_SHIFT);
}

/* The word of a slot that becomes free. */
static inline uint64_t oap_word_freed(uint64_t word) {
  return (uint64_t)oap_word_generation(word) << OAP_GENERATION_SHIFT;
}

/* The word of a free slot that becomes reserved. */
static inline uint64_t oap_word_reserved(uint64_t word) {
  return oap_word_with_state((uint64_t)(oap_word_generation(word) + 1) << OAP_GENERATION_SHIFT,
                             OAP_LOADING);
}

/* Positions are multiples of OAP_ALIGNMENT, which leaves room for a number below it. */
static inline uint32_t oap_slot_pieces(const oap_slot *slot) {
  return (uint32_t)(slot->place % OAP_ALIGNMENT);
}

static inline oap_piece oap_slot_piece(const oap_slot *slot, uint32_t i) {
  if (slot->place % OAP_ALIGNMENT == 1) { /* the second cache line is not needed */
    return (oap_piece){.position = slot->place - 1, .bytes = slot->bytes};
  }
  uint64_t first = slot->place / OAP_ALIGNMENT * OAP_ALIGNMENT;
  return (oap_piece){.position = i == 0 ? first : slot->more_positions[i - 1],
                     .bytes = slot->piece_bytes[i]};
}

static inline uint64_t oap_file_hash(uint64_t high, uint64_t low) {
  return oap_mix(high ^ oap_mix(low + UINT64_C(0x9e3779b97f4a7c15)));
}

/* Equal for all representations of a chunk: the policy counts what is asked for, however it is
 * represented, and a chunk hardly ever has two at a time. */
static inline uint64_t oap_key_hash(const uint64_t key[4]) {
  return oap_mix(oap_file_hash(key[0], key[1]) ^ key[2]);
}

/* A key as the pool looks it up. */
typedef struct oap_hashed_key {
  uint64_t words[4];
  uint64_t hash;
} oap_hashed_key;

static inline oap_hashed_key oap_hashed(const oap_key *key) {
  oap_hashed_key out = {.words = {key->file_high, key->file_low,
                                  ((uint64_t)key->row_group << 32) | key->column,
                                  key->representation}};
  out.hash = oap_key_hash(out.words);
  return out;
}

/* A key as callers know it. */
static inline oap_key oap_plain_key(const uint64_t words[4]) {
  return (oap_key){words[0], words[1], (uint32_t)(words[2] >> 32), (uint32_t)words[2], words[3]};
}

/* Checksum over what a slot says of its chunk. The caller holds the lock, or a pin. */
uint64_t oap_slot_checksum(const oap_slot *slot);

/* The checksum of a chunk that is being loaded, and has no content yet. */
uint64_t oap_slot_checksum_unfilled(const oap_slot *slot);

/* The slot's key. The caller holds the lock. */
static inline oap_hashed_key oap_slot_key(const oap_slot *slot) {
  oap_hashed_key key;
  for (int i = 0; i < 4; i++) {
    key.words[i] = atomic_load_explicit(&slot->key[i], memory_order_relaxed);
  }
  key.hash = oap_key_hash(key.words);
  return key;
}

/* Whether a chunk was pinned again since it came, ever. */
static inline bool oap_word_was_used(uint64_t word) {
  return (word & (OAP_USES_MASK | OAP_WAS_USED)) != 0;
}

/* How often a chunk was pinned lately, up to OAP_MAX_USES; oap_take_uses also sets that to 0. */
unsigned oap_uses(const oap_slot *slot);
unsigned oap_take_uses(oap_slot *slot);

#endif
