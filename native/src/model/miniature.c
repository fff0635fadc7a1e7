/* The miniature: see miniature.h. */
#include "miniature.h"

#include "pool/chunk.h"
#include "pool/drop.h"
#include "pool/resize.h"
#include "shard/pin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Representation of a chunk that is being replaced; the model tells none apart. */
#define FORMER 1

int oap_miniature_open(const oap_miniature_options *options, oap_miniature **out) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t pages = options->capacity / page;
  oap_range stripe = {.position = 0, .bytes = (pages == 0 ? 1 : pages) * page};
  uint64_t windows = (stripe.bytes + OAP_WINDOW_BYTES - 1) / OAP_WINDOW_BYTES;
  uint64_t size = sizeof(oap_miniature) + windows * sizeof(unsigned char *);
  oap_miniature *m = aligned_alloc(64, (size + 63) / 64 * 64);
  if (m == NULL) {
    return -ENOMEM;
  }
  for (uint64_t i = 0; i < windows; i++) {
    m->windows[i] = options->nowhere;
  }
  oap_shard_options shard = {
      .stripes = &stripe,
      .stripe_count = 1,
      .part = stripe.bytes,
      .most_slots = options->most_slots,
      .policy = options->policy,
      .windows = m->windows,
  };
  int error = oap_shard_open(&m->shard, &shard);
  if (error != 0) {
    free(m);
    return error;
  }
  oap_shard_resize(&m->shard, stripe.bytes);
  *out = m;
  return 0;
}

void oap_miniature_close(oap_miniature *m) {
  if (m != NULL) {
    oap_shard_close(&m->shard);
    free(m);
  }
}

bool oap_miniature_use(oap_miniature *m, const oap_hashed_key *key) {
  oap_chunk chunk;
  bool held = oap_shard_pin(&m->shard, key, true, &chunk) == 0;
  if (held) {
    oap_shard_unpin(&m->shard, &chunk);
  }
  return held;
}

bool oap_miniature_is_full(const oap_miniature *m) {
  const oap_shard *shard = &m->shard;
  return shard->slot_free == 0 && shard->slot_top >= shard->slot_limit &&
         shard->slot_limit < oap_shard_slots_for(shard->capacity);
}

/* The slot that a chunk has got; 0: none. */
static uint32_t take_in(oap_miniature *m, const oap_hashed_key *key, uint64_t bytes) {
  oap_chunk chunk;
  if (oap_shard_reserve(&m->shard, key, bytes, true, &chunk) != 0) {
    return 0;
  }
  oap_shard_publish(&m->shard, &chunk);
  oap_shard_unpin(&m->shard, &chunk);
  return chunk.slot;
}

void oap_miniature_insert(oap_miniature *m, const oap_hashed_key *key, uint64_t bytes,
                          bool displaces) {
  uint64_t used = oap_space_used(&m->shard.space) * OAP_ALIGNMENT;
  if (displaces || used + bytes <= m->shard.capacity) {
    take_in(m, key, bytes);
  }
}

void oap_miniature_replace(oap_miniature *m, const oap_hashed_key *key, uint64_t bytes) {
  uint64_t word;
  uint32_t number = oap_index_find(&m->shard.index, key, &word);
  if (number != 0 && m->shard.slots[number].bytes == bytes) {
    return;
  }
  if (number == 0) {
    take_in(m, key, bytes);
    return;
  }
  /* As in the pool, the former is there until the latter has its standing. */
  oap_hashed_key former = *key;
  former.words[3] = FORMER;
  oap_slot *slot = &m->shard.slots[number];
  atomic_store_explicit(&slot->key[3], FORMER, memory_order_relaxed);
  slot->checksum = oap_slot_checksum(slot);
  take_in(m, key, bytes);
  oap_shard_drop(&m->shard, &former);
}

static void copy_sketch(oap_sketch *to, const oap_sketch *from) {
  if (to->mask == from->mask) { /* else it learns anew */
    memcpy(to->words, from->words, ((uint64_t)from->mask + 1) * sizeof(*from->words));
    to->additions = from->additions;
  }
}

/* Puts a chunk where it stands in the other one's queues, when those before it stand there. */
static void copy_chunk(oap_miniature *m, const oap_slot *from, const oap_hashed_key *key) {
  uint32_t number = take_in(m, key, from->bytes);
  if (number != 0) {
    oap_slot *slot = &m->shard.slots[number];
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    atomic_store_explicit(&slot->word, oap_word_with_uses(word, oap_uses(from)),
                          memory_order_relaxed);
    oap_order_remove(&m->shard.order, number);
    oap_queue_push(&m->shard.order, from->queue, number);
  }
}

int oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                            bool (*is_wanted)(uint64_t hash, uint32_t argument), uint32_t argument,
                            oap_miniature **out) {
  int error = oap_miniature_open(options, out);
  if (error != 0) {
    return error;
  }
  oap_order *order = &(*out)->shard.order;
  const oap_order *from = &other->shard.order;
  copy_sketch(&order->sketch, &from->sketch);
  order->ended = from->ended;
  for (unsigned q = 0; q < OAP_QUEUES; q++) {
    for (uint32_t i = from->queue[q].tail; i != 0; i = from->slots[i].queue_previous) {
      oap_hashed_key key = oap_slot_key(&from->slots[i]);
      if (is_wanted(key.hash, argument)) {
        copy_chunk(*out, &from->slots[i], &key);
      }
    }
  }
  order->ended = from->ended; /* it may have moved on to make room */
  copy_sketch(&order->sketch, &from->sketch);
  return 0;
}
