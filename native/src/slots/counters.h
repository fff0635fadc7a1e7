/*
 * Counters of the paths that take no lock, spread over cache lines by thread. A single set may wrap
 * below zero, since one thread pins and another unpins; only the sums over all sets mean something.
 */
#ifndef OAP_COUNTERS_H
#define OAP_COUNTERS_H

#include "oap_pool.h"

#include <stdatomic.h>

#define OAP_COUNTER_SETS 16

typedef struct oap_counters {
  _Alignas(64) _Atomic uint64_t hits;
  _Atomic uint64_t misses;
  _Atomic uint64_t publishes;
  _Atomic uint64_t chunks;
  _Atomic uint64_t changes; /* of what is visible */
  _Atomic uint64_t pinned;  /* OAP_PINNED of each chunk that is pinned or reserved */
  _Atomic uint64_t stuck;   /* reservations that did not get the lock */
} oap_counters;

/* Number of chunks in the low bits, their size in units of OAP_ALIGNMENT above: one addition. */
#define OAP_PINNED_SHIFT 24
#define OAP_PINNED(bytes)                                                                          \
  ((((uint64_t)(bytes) + OAP_ALIGNMENT - 1) / OAP_ALIGNMENT << OAP_PINNED_SHIFT) + 1)

/* Which of the sets is the calling thread's. */
unsigned oap_counter_set(void);

static inline void oap_count(_Atomic uint64_t *counter, uint64_t by) {
  atomic_fetch_add_explicit(counter, by, memory_order_relaxed);
}

/* Counts one visible chunk more or less; called after it is so. */
static inline void oap_count_visible(oap_counters *sets, int by) {
  oap_counters *mine = &sets[oap_counter_set()];
  oap_count(&mine->chunks, (uint64_t)(int64_t)by);
  atomic_fetch_add_explicit(&mine->changes, 1, memory_order_release);
}

/* Grows with every chunk that becomes visible or stops being so. */
uint64_t oap_counters_version(const oap_counters *sets);

/* OAP_PINNED of all chunks that are pinned or reserved. Exact when no other thread counts; else an
 * estimate, never a reason to let go of memory. */
uint64_t oap_counters_sum(const oap_counters *sets);

/* How many chunks such a sum is of, and the bytes that they keep from others. */
uint64_t oap_pinned_chunks(uint64_t sum, uint64_t *bytes);

/* Adds all sets to these figures. */
void oap_counters_add(const oap_counters *sets, oap_stats *sum);

#endif
