/* Slots: see slot.h. */
#include "slot.h"

static uint64_t checksum(const oap_slot *slot, uint64_t content) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  uint64_t sum = oap_mix(oap_word_generation(word) + slot->bytes) ^ content;
  for (int i = 0; i < 4; i++) {
    sum = oap_mix(sum ^ atomic_load_explicit(&slot->key[i], memory_order_relaxed));
  }
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    sum = oap_mix(sum + piece.position) ^ piece.bytes;
  }
  return sum;
}

uint64_t oap_slot_checksum(const oap_slot *slot) { return checksum(slot, slot->content); }

uint64_t oap_slot_checksum_unfilled(const oap_slot *slot) { return checksum(slot, 0); }

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
