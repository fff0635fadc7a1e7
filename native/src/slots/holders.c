/* Holders: see holders.h. */
#include "holders.h"

bool oap_is_unpinned(const oap_holders *holders, uint32_t slot, uint64_t word) {
  if (holders->pins == NULL) {
    return oap_word_pins(word) == 0;
  }
  uint32_t members = atomic_load(holders->members);
  for (uint32_t m = 0; m < members; m++) {
    if (atomic_load(&holders->pins[m * holders->stride + slot]) != 0) {
      return false;
    }
  }
  return true;
}

void oap_forget_pins(const oap_holders *holders, uint32_t member, uint32_t last) {
  _Atomic uint32_t *pins = &holders->pins[member * holders->stride];
  for (uint32_t i = 0; i <= last; i++) {
    if (atomic_load_explicit(&pins[i], memory_order_relaxed) != 0) {
      atomic_store(&pins[i], 0);
    }
  }
}
