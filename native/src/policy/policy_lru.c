/* Least recently used, for comparison. A hit writes its slot into a ring; before a victim is
 * chosen, the queue is reordered by the ring. A ring that runs over loses the oldest hits. */
#include "policy.h"

static void insert(oap_order *order, uint32_t slot, uint64_t hash) {
  (void)hash;
  oap_queue_push(order, 0, slot);
}

static void used(oap_order *order, uint32_t slot) {
  uint32_t at = atomic_fetch_add_explicit(&order->ring_head, 1, memory_order_relaxed);
  atomic_store_explicit(&order->ring[at % OAP_RING], slot, memory_order_relaxed);
}

static void move_to_head(oap_order *order, uint32_t slot) {
  oap_order_remove(order, slot);
  oap_queue_push(order, 0, slot);
}

static void take_in_hits(oap_order *order) {
  uint32_t head = atomic_load_explicit(&order->ring_head, memory_order_relaxed);
  if (head - order->ring_tail > OAP_RING) {
    order->ring_tail = head - OAP_RING;
  }
  for (; order->ring_tail != head; order->ring_tail++) {
    uint32_t slot =
        atomic_load_explicit(&order->ring[order->ring_tail % OAP_RING], memory_order_relaxed);
    enum oap_state state =
        oap_word_state(atomic_load_explicit(&order->slots[slot].word, memory_order_relaxed));
    if (slot != 0 && (state == OAP_PUBLISHED || state == OAP_LOADING)) {
      move_to_head(order, slot);
    }
  }
}

static uint32_t evict(oap_order *order) {
  take_in_hits(order);
  for (uint32_t left = order->queue[0].count; left > 0; left--) {
    uint32_t slot = order->queue[0].tail;
    if (oap_claim(order->holders, order->slots, slot)) {
      return slot;
    }
    move_to_head(order, slot); /* in use */
  }
  return 0;
}

const oap_policy oap_policy_lru = {
    .name = "lru",
    .insert = insert,
    .evict = evict,
    .is_old = oap_queue_is_old,
    .used = used,
};
