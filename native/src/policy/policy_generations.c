/*
 * Generations, after Linux' multi-generational LRU. Victims come from the oldest generation; chunks
 * of it that were used meanwhile move to the youngest. When the oldest is empty, all others age.
 * New chunks enter the second oldest, so that a scan does not pass through all of them. Each slot
 * notes in in_use_at how many generations had ended when it entered its own, so that a pool that is
 * reopened knows which one is the oldest.
 */
#include "policy.h"

#define NEW 1
#define YOUNGEST (OAP_QUEUES - 1)

static unsigned generation(const oap_order *order, unsigned age) {
  return (order->ended + age) % OAP_QUEUES;
}

static void put(oap_order *order, unsigned age, uint32_t slot) {
  order->slots[slot].in_use_at = order->ended;
  oap_queue_push(order, generation(order, age), slot);
}

static void insert(oap_order *order, uint32_t slot, uint64_t hash) {
  (void)hash;
  put(order, NEW, slot);
}

static void restore(oap_order *order, uint32_t slot) {
  uint32_t ended = order->slots[slot].in_use_at;
  order->ended = ended > order->ended ? ended : order->ended;
}

static uint32_t evict(oap_order *order) {
  uint64_t looks = OAP_QUEUES;
  for (unsigned i = 0; i < OAP_QUEUES; i++) {
    looks += (uint64_t)2 * order->queue[i].count;
  }
  for (; looks > 0; looks--) {
    uint32_t number = order->queue[generation(order, 0)].tail;
    if (number == 0) {
      order->ended++;
      continue;
    }
    oap_slot *slot = &order->slots[number];
    bool used = oap_take_uses(slot) > 0;
    if (!used && oap_claim(order->holders, order->slots, number)) {
      return number;
    }
    oap_order_remove(order, number);
    put(order, YOUNGEST, number);
  }
  return 0;
}

static bool is_old(const oap_order *order, uint32_t slot) {
  return oap_uses(&order->slots[slot]) == 0 && order->slots[slot].queue == generation(order, 0);
}

const oap_policy oap_policy_generations = {
    .name = "generations",
    .insert = insert,
    .evict = evict,
    .is_old = is_old,
    .restore = restore,
};
