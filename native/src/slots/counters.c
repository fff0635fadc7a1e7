/* Counters: see counters.h. */
#include "counters.h"

unsigned oap_counter_set(void) {
  static _Atomic unsigned next;
  static _Thread_local unsigned mine; /* 0: not given out yet */
  if (mine == 0) {
    mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % OAP_COUNTER_SETS + 1;
  }
  return mine - 1;
}

uint64_t oap_counters_version(const oap_counters *sets) {
  uint64_t changes = 0;
  for (int i = 0; i < OAP_COUNTER_SETS; i++) {
    changes += atomic_load_explicit(&sets[i].changes, memory_order_acquire);
  }
  return changes;
}

uint64_t oap_counters_sum(const oap_counters *sets) {
  uint64_t pinned = 0;
  for (int i = 0; i < OAP_COUNTER_SETS; i++) {
    pinned += atomic_load_explicit(&sets[i].pinned, memory_order_relaxed);
  }
  return pinned;
}

uint64_t oap_pinned_chunks(uint64_t pinned, uint64_t *bytes) {
  /* Pinned in one set after that was read and unpinned in another before: less than nothing. */
  int64_t chunks = (int64_t)(pinned << (64 - OAP_PINNED_SHIFT)) >> (64 - OAP_PINNED_SHIFT);
  int64_t units = (int64_t)(pinned - (uint64_t)chunks) >> OAP_PINNED_SHIFT;
  *bytes = units > 0 ? (uint64_t)units * OAP_ALIGNMENT : 0;
  return chunks > 0 ? (uint64_t)chunks : 0;
}

void oap_counters_add(const oap_counters *sets, oap_stats *sum) {
  for (int i = 0; i < OAP_COUNTER_SETS; i++) {
    sum->hits += atomic_load_explicit(&sets[i].hits, memory_order_relaxed);
    sum->misses += atomic_load_explicit(&sets[i].misses, memory_order_relaxed);
    sum->publishes += atomic_load_explicit(&sets[i].publishes, memory_order_relaxed);
    sum->chunks += atomic_load_explicit(&sets[i].chunks, memory_order_relaxed);
    sum->refused_no_room += atomic_load_explicit(&sets[i].stuck, memory_order_relaxed);
  }
  uint64_t pinned_bytes;
  sum->pinned_chunks += oap_pinned_chunks(oap_counters_sum(sets), &pinned_bytes);
  sum->pinned_bytes += pinned_bytes;
}
