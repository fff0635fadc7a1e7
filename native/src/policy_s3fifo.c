/*
 * S3-FIFO (Yang et al., SOSP 2023), counted in bytes: a small queue that every newcomer passes, so
 * that a scan flows through it without touching the rest; a main queue with a few second chances;
 * and ghosts, by which a chunk that left the small queue too early enters the main queue directly.
 */
#include "policy.h"

enum { SMALL, MAIN };

/* The small queue gets a tenth of the capacity, as in the paper. */
#define SMALL_PART 10

/* Ghosts older than the bytes of the main queue say nothing any more. */
static uint32_t clock_now(const oap_order *order) {
  uint64_t tick = order->capacity >> 20;
  return (uint32_t)(order->clock / (tick == 0 ? 1 : tick));
}

static uint32_t clock_main(const oap_order *order) {
  uint64_t tick = order->capacity >> 20;
  return (uint32_t)((order->capacity - order->capacity / SMALL_PART) / (tick == 0 ? 1 : tick));
}

static uint64_t hash_of(const oap_slot *slot) {
  uint64_t key[4];
  for (int i = 0; i < 4; i++) {
    key[i] = atomic_load_explicit(&slot->key[i], memory_order_relaxed);
  }
  return oap_key_hash(key);
}

/* Two places per fingerprint; the newer memory drives out the older one. */
static void remember(oap_order *order, uint64_t hash) {
  uint32_t fingerprint = (uint32_t)hash | 1;
  uint32_t place = (uint32_t)(hash >> 32) & order->ghost_mask & ~1U;
  oap_ghost *a = &order->ghosts[place];
  oap_ghost *b = &order->ghosts[place + 1];
  oap_ghost *older = (int32_t)(a->when - b->when) <= 0 ? a : b;
  older->fingerprint = fingerprint;
  older->when = clock_now(order);
}

static bool recall(oap_order *order, uint64_t hash) {
  uint32_t fingerprint = (uint32_t)hash | 1;
  uint32_t place = (uint32_t)(hash >> 32) & order->ghost_mask & ~1U;
  for (uint32_t i = place; i <= place + 1; i++) {
    oap_ghost *ghost = &order->ghosts[i];
    if (ghost->fingerprint == fingerprint) {
      ghost->fingerprint = 0;
      return clock_now(order) - ghost->when <= clock_main(order);
    }
  }
  return false;
}

static void insert(oap_order *order, uint32_t slot) {
  bool known = recall(order, hash_of(&order->slots[slot]));
  oap_queue_push(order, known ? MAIN : SMALL, slot);
}

static void set_uses(oap_slot *slot, unsigned uses) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, oap_word_with_uses(word, uses),
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}

static uint32_t evict(oap_order *order) {
  /* Each slot is looked at as often as it has uses left to lose, and once more. */
  uint64_t looks = (uint64_t)(OAP_MAX_USES + 2) *
                   (order->queue[SMALL].count + (uint64_t)order->queue[MAIN].count);
  while (looks-- > 0) {
    bool small =
        order->queue[MAIN].count == 0 ||
        (order->queue[SMALL].count > 0 && order->queue[SMALL].bytes > order->capacity / SMALL_PART);
    uint32_t number = order->queue[small ? SMALL : MAIN].tail;
    oap_slot *slot = &order->slots[number];
    unsigned uses = oap_word_uses(atomic_load_explicit(&slot->word, memory_order_relaxed));
    oap_queue_remove(order, number);
    if (small ? uses > 1 : uses > 0) {
      set_uses(slot, small ? 0 : uses - 1);
      oap_queue_push(order, MAIN, number);
      continue;
    }
    uint64_t hash = hash_of(slot);
    if (oap_claim(slot)) {
      order->clock += slot->bytes;
      if (small) {
        remember(order, hash);
      }
      return number;
    }
    oap_queue_push(order, MAIN, number); /* pinned or loading: in use */
  }
  return 0;
}

const oap_policy oap_policy_s3fifo = {.name = "s3fifo", .insert = insert, .evict = evict};
