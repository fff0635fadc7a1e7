/*
 * The policy: which chunk leaves when room is needed, and which may enter. One small seam, several
 * policies behind it; each shard has its own state of the one chosen at open.
 *
 * A policy orders slots in queues (doubly linked by slot number). Hits do not reach it: they leave
 * their mark in the uses of the slot's word without a lock, and the policy looks there when it
 * searches a victim. All functions are called under the shard's lock.
 */
#ifndef OAP_POLICY_H
#define OAP_POLICY_H

#include "slot.h"

#define OAP_QUEUES 4

typedef struct oap_queue {
  uint32_t head; /* newest */
  uint32_t tail; /* oldest */
  uint32_t count;
  uint64_t bytes;
} oap_queue;

/* A chunk that left, remembered by a fingerprint of its key: has it been here lately? */
typedef struct oap_ghost {
  uint32_t fingerprint;
  uint32_t when; /* on the clock of bytes that left, in units of capacity / 2^20 */
} oap_ghost;

typedef struct oap_policy oap_policy;

typedef struct oap_order {
  const oap_policy *policy;
  oap_slot *slots;
  uint64_t capacity; /* bytes of the shard */
  oap_queue queue[OAP_QUEUES];
  oap_ghost *ghosts;
  uint32_t ghost_mask;
  uint64_t clock; /* bytes evicted so far */
} oap_order;

struct oap_policy {
  const char *name;
  /* A chunk has been reserved; its slot is filled in. */
  void (*insert)(oap_order *order, uint32_t slot);
  /* Takes the next victim off its queue and claims it (its word is then that of a free slot).
   * 0: nothing can be evicted. */
  uint32_t (*evict)(oap_order *order);
};

/* The policy of that name, NULL: the default. NULL if there is none. */
const oap_policy *oap_policy_named(const char *name);

/* Takes a slot off whatever queue it stands in. */
void oap_order_remove(oap_order *order, uint32_t slot);

/* NULL, or what is wrong with the queues; *count gets the number of slots in them. */
const char *oap_order_validate(const oap_order *order, uint32_t top, uint32_t *count);

/* For policies. */
void oap_queue_push(oap_order *order, unsigned queue, uint32_t slot);
void oap_queue_remove(oap_order *order, uint32_t slot);
bool oap_claim(oap_slot *slot);

extern const oap_policy oap_policy_s3fifo;
extern const oap_policy oap_policy_fifo;

#endif
