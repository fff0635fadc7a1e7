/* Slots: see slot.h. */
#include "slot.h"

uint64_t oap_slot_checksum(const oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  uint64_t sum = oap_mix(oap_word_generation(word) + slot->bytes) ^ slot->content;
  for (int i = 0; i < 4; i++) {
    sum = oap_mix(sum ^ atomic_load_explicit(&slot->key[i], memory_order_relaxed));
  }
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    sum = oap_mix(sum + piece.position) ^ piece.bytes;
  }
  return sum;
}

bool oap_is_evictable(const oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return oap_word_state(word) == OAP_PUBLISHED && oap_word_pins(word) == 0;
}

bool oap_claim(oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  while (oap_word_state(word) == OAP_PUBLISHED && oap_word_pins(word) == 0) {
    if (atomic_compare_exchange_weak_explicit(&slot->word, &word, oap_word_freed(word),
                                              memory_order_acq_rel, memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

unsigned oap_uses(const oap_slot *slot) {
  return oap_word_uses(atomic_load_explicit(&slot->word, memory_order_relaxed));
}

unsigned oap_take_uses(oap_slot *slot) {
  unsigned uses =
      oap_word_uses(atomic_fetch_and_explicit(&slot->word, ~OAP_USES_MASK, memory_order_relaxed));
  if (uses > 0) {
    atomic_fetch_or_explicit(&slot->word, OAP_WAS_USED, memory_order_relaxed);
  }
  return uses;
}
