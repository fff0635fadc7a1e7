/*
 * The policy decides which chunk leaves when room is needed. There are several behind one seam;
 * each shard has its own state of the policy that was chosen at open.
 *
 * A policy orders slots in queues (doubly linked by slot number). It is not told of hits: a hit
 * counts a use in the slot's word, without a lock, and the policy reads the uses when it searches a
 * victim. All functions are called under the shard's lock, except for used.
 */
#ifndef OAP_POLICY_H
#define OAP_POLICY_H

#include "sketch.h"
#include "slots/claim.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#define OAP_QUEUES 4

typedef struct oap_queue {
  uint32_t head; /* newest */
  uint32_t tail; /* oldest */
  uint32_t count;
  uint64_t bytes;
  uint64_t pushed; /* bytes ever */
} oap_queue;

typedef struct oap_policy oap_policy;

typedef struct oap_order {
  const oap_policy *policy;
  oap_slot *slots;
  const oap_holders *holders;
  _Atomic uint32_t *ring; /* slots used lately, for a policy that wants to know; may lose some */
  oap_sketch sketch;
  /* Numbers, as oap_order_copy copies them. */
  uint64_t capacity; /* bytes of the shard */
  oap_queue queue[OAP_QUEUES];
  uint32_t inserted;     /* chunks ever */
  uint32_t ended;        /* generations: how many, which tells the queue of the oldest */
  uint64_t pinned_bytes; /* s3fifo: of chunks that cannot be evicted now, about */
  unsigned victim_asks;  /* s3fifo: how often the last victim was asked for */
  uint32_t compared;     /* s3fifo: where it goes on to compare chunks with what is handed over */
  _Atomic uint32_t ring_head;
  uint32_t ring_tail;
} oap_order;

/* Copies the numbers of an order that stands in the same slots. What readers look at without a lock
 * stays as it is. */
static inline void oap_order_copy(oap_order *to, const oap_order *from) {
  const size_t start = offsetof(oap_order, capacity);
  memcpy((char *)to + start, (const char *)from + start, sizeof(*to) - start);
  to->sketch.additions = from->sketch.additions;
}

#define OAP_RING 4096

struct oap_policy {
  const char *name;
  /* A chunk has been reserved; its slot is filled in. */
  void (*insert)(oap_order *order, uint32_t slot, uint64_t hash);
  /* The next victim, claimed (its word is then that of a free slot). 0: nothing can be evicted. */
  uint32_t (*evict)(oap_order *order);
  /* As evict, of what may leave for a chunk that is asked for so often. NULL: the policy does not
   * go by that. */
  uint32_t (*evict_for)(oap_order *order, unsigned asks);
  /* Whether a chunk would be a victim soon, so that it can go now. */
  bool (*is_old)(const oap_order *order, uint32_t slot);
  /* A slot has been pinned again. Without the lock; NULL: of no interest. */
  void (*used)(oap_order *order, uint32_t slot);
  /* Another process has left a slot in its queue, with what the policy noted in it. NULL: that is
   * of no use any more. */
  void (*restore)(oap_order *order, uint32_t slot);
};

/* The policy of that name, NULL: the default. NULL if there is none. */
const oap_policy *oap_policy_named(const char *name);

/* Asks for what the policy will look at when that chunk is reserved. No lock needed. */
void oap_order_prefetch(const oap_order *order, uint64_t hash);

/* A chunk has been reserved: hands it to the policy. */
void oap_order_insert(oap_order *order, uint32_t slot);

/* Hands a chunk to the policy that replaces another one. It gets the other's queue and uses, since
 * replacing a chunk is not an ask for it. */
void oap_order_insert_like(oap_order *order, uint32_t slot, uint32_t other);

/* The next victim, claimed and off its queue; 0: there is none. It leaves for a chunk that is asked
 * for so often; OAP_BY_TURN: for one that is new, when it is its turn. */
uint32_t oap_order_evict(oap_order *order, unsigned asks);
#define OAP_BY_TURN UINT_MAX

/* How often a chunk is asked for that is to be reserved, its arrival included, if another pool has
 * counted so many asks: for oap_order_evict. 0: the policy has nothing leave for it. */
unsigned oap_order_worth(const oap_order *order, uint64_t hash, unsigned asks);

/* Such a chunk has been reserved: it counts as asked for so often from now on. */
void oap_order_credit(oap_order *order, uint64_t hash, unsigned worth);

/* Claims this one, if it can be evicted, and takes it off its queue. */
bool oap_order_evict_this(oap_order *order, uint32_t slot);

/* Claims this one, if it would be a victim before long. */
bool oap_order_evict_old(oap_order *order, uint32_t slot);

/* Takes a slot off whatever queue it stands in. */
void oap_order_remove(oap_order *order, uint32_t slot);

/* NULL, or what is wrong with the queues; *count gets the number of slots in them. */
const char *oap_order_validate(const oap_order *order, uint32_t top, uint32_t *count);

/* For policies. */
void oap_queue_push(oap_order *order, unsigned queue, uint32_t slot);
bool oap_queue_is_old(const oap_order *order, uint32_t slot); /* in its queue's older part */

extern const oap_policy oap_policy_s3fifo;
extern const oap_policy oap_policy_generations;
extern const oap_policy oap_policy_lru;

#endif
