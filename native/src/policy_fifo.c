/* First in, first out: what every other policy must beat. */
#include "policy.h"

static void insert(oap_order *order, uint32_t slot) { oap_queue_push(order, 0, slot); }

static uint32_t evict(oap_order *order) {
  for (uint32_t left = order->queue[0].count; left > 0; left--) {
    uint32_t slot = order->queue[0].tail;
    oap_queue_remove(order, slot);
    if (oap_claim(&order->slots[slot])) {
      return slot;
    }
    oap_queue_push(order, 0, slot); /* in use: it gets another round */
  }
  return 0;
}

const oap_policy oap_policy_fifo = {.name = "fifo", .insert = insert, .evict = evict};
