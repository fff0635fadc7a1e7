/* Claims: see claim.h. */
#include "claim.h"

bool oap_is_evictable(const oap_holders *holders, const oap_slot *slots, uint32_t slot) {
  uint64_t word = atomic_load_explicit(&slots[slot].word, memory_order_relaxed);
  return oap_word_state(word) == OAP_PUBLISHED && oap_is_unpinned(holders, slot, word);
}

static bool claim_alone(oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  while (oap_word_state(word) == OAP_PUBLISHED && oap_word_pins(word) == 0) {
    if (atomic_compare_exchange_weak_explicit(&slot->word, &word, oap_word_freed(word),
                                              memory_order_acq_rel, memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

/* The word keeps its uses until the claim is decided: others may be setting them, or the mark of a
 * chunk that has been verified. */
static void decide(oap_slot *slot, bool is_free) {
  uint64_t word = atomic_load(&slot->word);
  uint64_t decided;
  do {
    decided = is_free ? oap_word_freed(word) : oap_word_with_state(word, OAP_PUBLISHED);
  } while (!atomic_compare_exchange_weak(&slot->word, &word, decided));
}

bool oap_claim(const oap_holders *holders, oap_slot *slots, uint32_t slot) {
  oap_slot *s = &slots[slot];
  if (holders->pins == NULL) {
    return claim_alone(s);
  }
  uint64_t word = atomic_load(&s->word);
  do {
    if (oap_word_state(word) != OAP_PUBLISHED || !oap_is_unpinned(holders, slot, word)) {
      return false;
    }
  } while (!atomic_compare_exchange_weak(&s->word, &word, oap_word_with_state(word, OAP_CLAIMED)));
  bool is_free = oap_is_unpinned(holders, slot, word);
  decide(s, is_free);
  return is_free;
}
