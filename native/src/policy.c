/* What all policies share: the queues, the claim on a victim, ghosts, the list of names. */
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

bool oap_claim(oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  while (oap_word_state(word) == OAP_PUBLISHED && oap_word_pins(word) == 0) {
    if (atomic_compare_exchange_weak_explicit(&slot->word, &word, oap_word_freed(word),
                                              memory_order_acq_rel, memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool oap_is_evictable(const oap_slot *slot) {
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  return oap_word_state(word) == OAP_PUBLISHED && oap_word_pins(word) == 0;
}

unsigned oap_uses(const oap_slot *slot) {
  return oap_word_uses(atomic_load_explicit(&slot->word, memory_order_relaxed));
}

unsigned oap_take_uses(oap_slot *slot) {
  return oap_word_uses(
      atomic_fetch_and_explicit(&slot->word, ~OAP_USES_MASK, memory_order_relaxed));
}

uint64_t oap_slot_hash(const oap_slot *slot) {
  uint64_t key[4];
  for (int i = 0; i < 4; i++) {
    key[i] = atomic_load_explicit(&slot->key[i], memory_order_relaxed);
  }
  return oap_key_hash(key);
}

static uint32_t clock_now(const oap_order *order) { return (uint32_t)(order->clock / order->tick); }

/* Two places per fingerprint; the newer memory drives out the older one. */
static void remember(oap_order *order, uint64_t hash) {
  uint32_t place = (uint32_t)(hash >> 32) & order->ghost_mask & ~1U;
  oap_ghost *a = &order->ghosts[place];
  oap_ghost *b = &order->ghosts[place + 1];
  oap_ghost *older = (int32_t)(a->when - b->when) <= 0 ? a : b;
  older->fingerprint = (uint32_t)hash | 1;
  older->when = clock_now(order);
}

static bool recall(oap_order *order, uint64_t hash) {
  uint32_t place = (uint32_t)(hash >> 32) & order->ghost_mask & ~1U;
  for (uint32_t i = place; i <= place + 1; i++) {
    oap_ghost *ghost = &order->ghosts[i];
    if (ghost->fingerprint == ((uint32_t)hash | 1)) {
      ghost->fingerprint = 0;
      return clock_now(order) - ghost->when <= order->capacity / order->tick;
    }
  }
  return false;
}

static void leave(oap_order *order, uint32_t slot) {
  oap_order_remove(order, slot);
  order->clock += order->slots[slot].bytes;
  remember(order, oap_slot_hash(&order->slots[slot]));
}

void oap_order_prefetch(const oap_order *order, uint64_t hash) {
  oap_sketch_prefetch(&order->sketch, hash);
  __builtin_prefetch(&order->ghosts[(uint32_t)(hash >> 32) & order->ghost_mask & ~1U], 1);
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

void oap_order_insert(oap_order *order, uint32_t slot) {
  uint64_t hash = oap_slot_hash(&order->slots[slot]);
  order->ghost_reserves += recall(order, hash);
  order->policy->insert(order, slot, hash);
}

uint32_t oap_order_evict(oap_order *order) {
  uint32_t victim = order->policy->evict(order);
  if (victim != 0) {
    leave(order, victim);
    prefetch_ends(order);
  }
  return victim;
}

bool oap_order_evict_this(oap_order *order, uint32_t slot) {
  if (!oap_claim(&order->slots[slot])) {
    return false;
  }
  leave(order, slot);
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
