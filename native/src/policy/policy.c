/* What all policies share: the queues, the claim on a victim, the list of names. */
#include "policy.h"

#include <string.h>

const oap_policy *oap_policy_named(const char *name) {
  static const oap_policy *const all[] = {&oap_policy_s3fifo, &oap_policy_generations,
                                          &oap_policy_lru};
  if (name == NULL) {
    return all[0];
  }
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    if (strcmp(all[i]->name, name) == 0) {
      return all[i];
    }
  }
  return NULL;
}

void oap_queue_push(oap_order *order, unsigned queue, uint32_t slot) {
  oap_queue *q = &order->queue[queue];
  oap_slot *s = &order->slots[slot];
  s->queue = queue;
  s->queue_previous = 0;
  s->queue_next = q->head;
  if (q->head != 0) {
    order->slots[q->head].queue_previous = slot;
  } else {
    q->tail = slot;
  }
  q->head = slot;
  q->count++;
  q->bytes += s->bytes;
  q->pushed += s->bytes;
  s->stamp = q->pushed;
}

bool oap_queue_is_old(const oap_order *order, uint32_t slot) {
  const oap_slot *s = &order->slots[slot];
  const oap_queue *q = &order->queue[s->queue];
  return q->pushed - s->stamp > q->bytes / 4;
}

void oap_order_remove(oap_order *order, uint32_t slot) {
  oap_slot *s = &order->slots[slot];
  oap_queue *q = &order->queue[s->queue];
  if (s->queue_previous != 0) {
    order->slots[s->queue_previous].queue_next = s->queue_next;
  } else {
    q->head = s->queue_next;
  }
  if (s->queue_next != 0) {
    order->slots[s->queue_next].queue_previous = s->queue_previous;
  } else {
    q->tail = s->queue_previous;
  }
  q->count--;
  q->bytes -= s->bytes;
}

void oap_order_prefetch(const oap_order *order, uint64_t hash) {
  oap_sketch_prefetch(&order->sketch, hash);
}

/* The slots that are looked at first when the next victim is searched. */
static void prefetch_ends(const oap_order *order) {
  for (unsigned q = 0; q < OAP_QUEUES; q++) {
    if (order->queue[q].tail != 0) {
      const oap_slot *slot = &order->slots[order->queue[q].tail];
      __builtin_prefetch((const void *)&slot->word, 1);
      __builtin_prefetch(&slot->extent, 1);
    }
  }
}

static void begin(oap_order *order, uint32_t slot) {
  order->inserted++;
  order->slots[slot].in_use_at = 0;
}

void oap_order_insert(oap_order *order, uint32_t slot) {
  begin(order, slot);
  order->policy->insert(order, slot, oap_slot_key(&order->slots[slot]).hash);
}

void oap_order_insert_like(oap_order *order, uint32_t slot, uint32_t other) {
  begin(order, slot);
  uint64_t uses = atomic_load_explicit(&order->slots[other].word, memory_order_relaxed) &
                  (OAP_USES_MASK | OAP_WAS_USED);
  atomic_fetch_or_explicit(&order->slots[slot].word, uses, memory_order_relaxed);
  oap_queue_push(order, order->slots[other].queue, slot);
}

unsigned oap_order_worth(const oap_order *order, uint64_t hash, unsigned asks) {
  if (order->policy->evict_for == NULL) {
    return 0;
  }
  unsigned known = oap_sketch_count(&order->sketch, hash) + 1;
  unsigned counted = asks < OAP_SKETCH_MOST ? asks : OAP_SKETCH_MOST;
  return known < counted ? counted : known;
}

void oap_order_credit(oap_order *order, uint64_t hash, unsigned worth) {
  oap_sketch_raise(&order->sketch, hash, worth);
}

uint32_t oap_order_evict(oap_order *order, unsigned asks) {
  uint32_t victim =
      asks == OAP_BY_TURN ? order->policy->evict(order) : order->policy->evict_for(order, asks);
  if (victim != 0) {
    oap_order_remove(order, victim);
    prefetch_ends(order);
  }
  return victim;
}

bool oap_order_evict_this(oap_order *order, uint32_t slot) {
  if (!oap_claim(order->holders, order->slots, slot)) {
    return false;
  }
  oap_order_remove(order, slot);
  return true;
}

bool oap_order_evict_old(oap_order *order, uint32_t slot) {
  return order->policy->is_old(order, slot) && oap_order_evict_this(order, slot);
}

const char *oap_order_validate(const oap_order *order, uint32_t top, uint32_t *count) {
  *count = 0;
  for (unsigned i = 0; i < OAP_QUEUES; i++) {
    const oap_queue *q = &order->queue[i];
    uint32_t n = 0;
    uint32_t previous = 0;
    uint64_t bytes = 0;
    for (uint32_t slot = q->head; slot != 0; slot = order->slots[slot].queue_next) {
      const oap_slot *s = &order->slots[slot];
      if (slot > top || s->queue != i || s->queue_previous != previous || ++n > q->count) {
        return "policy: queue broken";
      }
      previous = slot;
      bytes += s->bytes;
    }
    if (q->tail != previous || n != q->count || bytes != q->bytes) {
      return "policy: queue miscounted";
    }
    *count += n;
  }
  return NULL;
}
