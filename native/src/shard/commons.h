/*
 * Commons: what the processes that share a shard have of it beside its tables. Lies in a mapped
 * file, at another address in each process, so that pointers in it mean nothing.
 *
 * A process works on copies of the numbers (space, order, free slots) while it has the lock, and
 * writes them back before it unlocks. So they are always those of the last process that unlocked;
 * one that dies with the lock leaves tables that may be half changed, and the next one rebuilds
 * them from the slots.
 */
#ifndef OAP_COMMONS_H
#define OAP_COMMONS_H

#include "policy/policy.h"
#include "slots/space.h"

#include <pthread.h>

/* Where the next search for room between pinned chunks starts: an extent of a region. */
typedef struct oap_hand {
  uint32_t region;
  uint32_t extent;
} oap_hand;

typedef struct oap_commons {
  pthread_mutex_t lock;     /* robust, for processes */
  _Atomic uint32_t changer; /* 1 + the member that may have changed something since it locked; 0 */
  uint32_t region_count;
  uint32_t slot_top;
  uint32_t slot_free;
  oap_hand hand;
  oap_space space;
  oap_order order;
  _Alignas(64) _Atomic uint64_t changes;     /* of what is visible */
  _Atomic uint64_t pinned[OAP_MOST_MEMBERS]; /* OAP_PINNED of each member's chunks, about */
} oap_commons;

#endif
