/*
 * Holders: the processes that share a shard's slots, and how many pins each has on which slot.
 *
 * Each process counts its own pins, in a table of its own that the others can read. A pin is
 * counted first; then the slot's word says whether the chunk is still there. Whoever wants a
 * chunk's room changes the word first, then reads the counts. Both are sequentially consistent, so
 * at least one of the two sees the other (Dekker's protocol, as hazard pointers use it: Michael,
 * 2004). When a process is gone, its table is set to zero, and with it all its pins are, exactly.
 *
 * A slot that is being loaded counts as pinned by its loader.
 */
#ifndef OAP_HOLDERS_H
#define OAP_HOLDERS_H

#include "slot.h"

typedef struct oap_holders {
  _Atomic uint32_t *pins; /* NULL: one process alone, whose pins the words count */
  uint64_t stride;        /* from a member's table to the next */
  uint32_t self;
  const _Atomic uint32_t *members; /* all have lower numbers */
} oap_holders;

/* The count of this process's pins on a slot. */
static inline _Atomic uint32_t *oap_own_pins(const oap_holders *holders, uint32_t slot) {
  return &holders->pins[holders->self * holders->stride + slot];
}

/* How many pins this process has on a slot, whose word this is. */
static inline uint64_t oap_pins(const oap_holders *holders, uint32_t slot, uint64_t word) {
  return holders->pins == NULL
             ? oap_word_pins(word)
             : atomic_load_explicit(oap_own_pins(holders, slot), memory_order_acquire);
}

/* Whether no process has pins on a slot, whose word this is. */
bool oap_is_unpinned(const oap_holders *holders, uint32_t slot, uint64_t word);

/* Sets the counts of a member that is gone to zero, of slots up to this one. */
void oap_forget_pins(const oap_holders *holders, uint32_t member, uint32_t last);

#endif
