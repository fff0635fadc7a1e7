/*
 * S3-FIFO's queues (Yang et al., SOSP 2023), counted in bytes, with W-TinyLFU's admission (Einziger
 * et al., 2017) between them. New chunks enter a small queue, through which a scan passes. A chunk
 * at its end moves to the main queue only if it was used again already, or is asked for more often
 * than the chunk that it would replace there. A chunk at the end of the main queue that was used
 * meanwhile gets a second chance.
 *
 * Sizes need no part in the comparison: a chunk saves its bytes at each hit and costs the same
 * bytes to keep, so frequency alone is its worth per byte.
 */
#include "policy.h"

/* Chunks that are in use for long stand beside their queue, so that searches for a victim do not
 * pass them each time. */
enum { SMALL, MAIN, BESIDE_SMALL, BESIDE_MAIN };

/* How many of the chunks beside a queue are checked at each eviction, whether they may return. */
#define LOOKS_BESIDE 1

/* The small queue's part of the capacity. The paper has a tenth; with the sketch, which remembers
 * what was asked for, less suffices. */
#define SMALL_PART 20

/* Below this part of the capacity the main queue takes every chunk: the pool is being filled. The
 * rest is for the small queue and for what lies scattered. Pinned chunks count as part of the main
 * queue: a scan that has many pinned keeps it short, and chunks of it that are in use for long
 * stand beside it. */
#define MAIN_PERCENT 90

/* A new chunk replaces the victim only if it was asked for more often by more than this. In a loop
 * all chunks are asked for equally often, but those whose turn has come are one ask ahead. */
#define LEAD 1

/* So many uses in the small queue admit a chunk, whatever was hot before; as in the paper. */
#define ENOUGH_USES 2

/* How many chunks of each queue are compared with one that another pool hands over. */
#define LOOKS_FOR_HANDED 64

static void count_asks(oap_order *order, uint64_t hash, unsigned asks) {
  oap_sketch_add(&order->sketch, hash, asks, order->queue[SMALL].count + order->queue[MAIN].count);
}

static void move(oap_order *order, uint32_t slot, unsigned queue) {
  oap_order_remove(order, slot);
  oap_queue_push(order, queue, slot);
}

/* Looks at so many chunks beside a queue: those that are no longer in use come back. */
static void take_back(oap_order *order, unsigned queue, uint32_t looks) {
  unsigned beside = queue + BESIDE_SMALL;
  for (; looks > 0 && order->queue[beside].tail != 0; looks--) {
    uint32_t last = order->queue[beside].tail;
    bool comes_back = oap_is_evictable(order->holders, order->slots, last);
    order->slots[last].in_use_at = comes_back ? 0 : order->slots[last].in_use_at;
    move(order, last, comes_back ? queue : beside);
  }
}

/* Passes over a chunk that is in use at its queue's end. It comes round again, and stands beside
 * the queue when it is in use still after half as many chunks have come as there are. */
static void pass(oap_order *order, uint32_t number, unsigned queue) {
  oap_slot *slot = &order->slots[number];
  slot->in_use_at = slot->in_use_at == 0 ? order->inserted : slot->in_use_at;
  uint32_t chunks = 0;
  for (unsigned q = 0; q < OAP_QUEUES; q++) {
    chunks += order->queue[q].count;
  }
  bool is_for_long = order->inserted - slot->in_use_at > chunks / 2;
  move(order, number, is_for_long ? queue + BESIDE_SMALL : queue);
}

static bool small_is_short(const oap_order *order) {
  return order->queue[SMALL].bytes < order->capacity / SMALL_PART;
}

/* Whether the main queue takes every chunk that comes to the small one's end. */
static bool is_filling(const oap_order *order) {
  return !small_is_short(order) &&
         order->queue[MAIN].bytes + order->pinned_bytes < order->capacity / 100 * MAIN_PERCENT;
}

static void insert(oap_order *order, uint32_t slot, uint64_t hash) {
  /* Two for each new chunk, so that the first eviction of a full pool need not move all of them. */
  for (int i = 0; i < 2 && is_filling(order); i++) {
    uint32_t last = order->queue[SMALL].tail;
    if (oap_is_evictable(order->holders, order->slots, last)) {
      move(order, last, MAIN);
    } else {
      pass(order, last, SMALL);
    }
  }
  oap_queue_push(order, SMALL, slot);
  count_asks(order, hash, 1);
}

/* Moves what was used, or is in use now, from the main queue's end to its beginning. The slot that
 * is then at the end, or 0 when all are in use. */
static uint32_t main_victim(oap_order *order) {
  for (uint64_t looks = (uint64_t)2 * order->queue[MAIN].count;
       looks > 0 && order->queue[MAIN].tail != 0; looks--) {
    uint32_t number = order->queue[MAIN].tail;
    oap_slot *slot = &order->slots[number];
    bool is_evictable = oap_is_evictable(order->holders, order->slots, number);
    if (oap_uses(slot) == 0 && is_evictable) {
      return number;
    }
    count_asks(order, oap_slot_key(slot).hash, oap_take_uses(slot));
    if (is_evictable) {
      move(order, number, MAIN);
    } else {
      pass(order, number, MAIN);
    }
  }
  return 0;
}

static unsigned frequency(const oap_order *order, uint32_t slot) {
  return oap_sketch_count(&order->sketch, oap_slot_key(&order->slots[slot]).hash) +
         oap_uses(&order->slots[slot]);
}

/* Of the two queues' ends, the one that is asked for less; 0 if there is none to choose from, now
 * that the small queue has given what it had to the main one. */
static uint32_t choose(oap_order *order) {
  for (uint64_t looks = order->queue[SMALL].count; looks > 0; looks--) {
    uint32_t candidate = order->queue[SMALL].tail;
    if (!oap_is_evictable(order->holders, order->slots, candidate)) {
      /* Judged when it is not in use: a scan that has more in its hands than the small queue takes
       * would get all of it into the main one. */
      pass(order, candidate, SMALL);
      continue;
    }
    if (is_filling(order)) {
      move(order, candidate, MAIN);
      continue;
    }
    uint32_t victim = main_victim(order);
    if (victim == 0) {
      return candidate;
    }
    if (small_is_short(order)) {
      return victim;
    }
    if (oap_uses(&order->slots[candidate]) < ENOUGH_USES &&
        frequency(order, candidate) <= frequency(order, victim) + LEAD) {
      return candidate;
    }
    oap_slot *slot = &order->slots[candidate];
    count_asks(order, oap_slot_key(slot).hash, oap_take_uses(slot));
    move(order, candidate, MAIN);
    return victim;
  }
  return main_victim(order);
}

static uint32_t claim_victim(oap_order *order) {
  uint64_t looks = (uint64_t)order->queue[SMALL].count + order->queue[MAIN].count;
  for (; looks > 0; looks--) {
    uint32_t victim = choose(order);
    if (victim == 0) {
      return 0;
    }
    order->victim_asks = frequency(order, victim);
    if (oap_claim(order->holders, order->slots, victim)) {
      return victim;
    }
  }
  return 0;
}

static uint32_t evict(oap_order *order) {
  take_back(order, SMALL, LOOKS_BESIDE);
  take_back(order, MAIN, LOOKS_BESIDE);
  uint32_t victim = claim_victim(order);
  if (victim == 0) { /* nothing is left but what stands beside */
    take_back(order, SMALL, order->queue[BESIDE_SMALL].count);
    take_back(order, MAIN, order->queue[BESIDE_MAIN].count);
    victim = claim_victim(order);
  }
  return victim;
}

/* Whether a slot that stood in the main queue once does now, so that a walk can go on from it. */
static bool is_in_main(const oap_order *order, uint32_t slot) {
  enum oap_state state =
      oap_word_state(atomic_load_explicit(&order->slots[slot].word, memory_order_relaxed));
  return order->slots[slot].queue == MAIN && (state == OAP_PUBLISHED || state == OAP_LOADING);
}

/* Of the chunks of a queue from *from on, one that is asked for less often than *asks, the least;
 * *asks gets how often. Else the one given. *from gets where the walk has ended. */
static uint32_t least_asked(const oap_order *order, unsigned queue, uint32_t *from, unsigned *asks,
                            uint32_t least) {
  uint32_t all = order->queue[queue].count;
  for (uint32_t looks = all < LOOKS_FOR_HANDED ? all : LOOKS_FOR_HANDED; looks > 0; looks--) {
    uint32_t i = *from == 0 ? order->queue[queue].tail : *from;
    const oap_slot *slot = &order->slots[i];
    unsigned of_this =
        oap_is_evictable(order->holders, order->slots, i) ? frequency(order, i) : UINT_MAX;
    least = of_this < *asks ? i : least;
    *asks = of_this < *asks ? of_this : *asks;
    *from = slot->queue_previous;
  }
  return least;
}

/* Looks without moving anything, so that chunks that are refused leave the queues as they are. Goes
 * round the main queue, lest hot chunks at its end hide the cold ones before them. */
static uint32_t evict_for(oap_order *order, unsigned asks) {
  unsigned below = asks < LEAD ? 0 : asks - LEAD;
  uint32_t from = 0;
  uint32_t victim = least_asked(order, SMALL, &from, &below, 0);
  from = is_in_main(order, order->compared) ? order->compared : 0;
  victim = least_asked(order, MAIN, &from, &below, victim);
  order->compared = from;
  if (victim == 0 || !oap_claim(order->holders, order->slots, victim)) {
    return 0;
  }
  order->victim_asks = below;
  return victim;
}

static bool is_old(const oap_order *order, uint32_t slot) {
  return oap_queue_is_old(order, slot) && frequency(order, slot) <= order->victim_asks;
}

const oap_policy oap_policy_s3fifo = {
    .name = "s3fifo",
    .insert = insert,
    .evict = evict,
    .evict_for = evict_for,
    .is_old = is_old,
};
