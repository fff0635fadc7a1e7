/* Chunks: see chunk.h. */
#include "chunk.h"

#include "content.h"
#include "poison.h"
#include "room.h"

#include <errno.h>

static void count_pinned(oap_counters *counters, uint64_t bytes) {
  oap_count(&counters->pinned, OAP_PINNED(bytes));
}

static void count_unpinned(oap_shard *shard, uint64_t bytes) {
  oap_count(&oap_shard_counters(shard)->pinned, -OAP_PINNED(bytes));
}

static void describe(const oap_shard *shard, uint32_t number, uint64_t word, oap_chunk *out) {
  const oap_slot *slot = &shard->slots[number];
  out->bytes = slot->bytes;
  out->slot = number;
  out->generation = oap_word_generation(word);
  out->pieces = oap_slot_pieces(slot);
  out->shard = shard->number;
  for (uint32_t i = 0; i < out->pieces; i++) {
    out->piece[i] = oap_slot_piece(slot, i);
    out->piece[i].data = oap_shard_address(shard, out->piece[i].position);
  }
}

static void fill_in(oap_shard *shard, uint32_t number, uint64_t bytes,
                    const uint32_t extents[OAP_MAX_PIECES], uint32_t pieces) {
  oap_slot *slot = &shard->slots[number];
  slot->bytes = bytes;
  slot->note = 0;
  slot->content = 0;
  slot->place = shard->space.extents[extents[0]].position + pieces;
  uint64_t left = bytes;
  for (uint32_t i = 0; i < pieces; i++) {
    const oap_extent *extent = &shard->space.extents[extents[i]];
    uint64_t room = (uint64_t)extent->units * OAP_ALIGNMENT;
    slot->extent[i] = extents[i];
    uint64_t part = left < room ? left : room;
    if (pieces > 1) {
      slot->piece_bytes[i] = part;
    }
    if (i > 0) {
      slot->more_positions[i - 1] = extent->position;
    }
    OAP_UNPOISON(oap_shard_address(shard, extent->position), part);
    left -= part;
  }
}

static int reserve(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes, unsigned asks,
                   oap_chunk *out) {
  uint64_t word;
  if (oap_index_find(&shard->index, key, &word) != 0) {
    bool loading = oap_word_state(word) == OAP_LOADING;
    shard->counted.refused_loading += loading;
    shard->counted.refused_present += !loading;
    return loading ? -EINPROGRESS : -EEXIST;
  }
  if (bytes > shard->most_bytes) {
    shard->counted.refused_too_large++;
    return -EFBIG;
  }
  uint32_t extents[OAP_MAX_PIECES];
  uint32_t pieces;
  uint64_t units = (bytes + OAP_ALIGNMENT - 1) / OAP_ALIGNMENT;
  uint32_t number = oap_room_allocate(shard, units, asks, extents, &pieces);
  if (number == 0) {
    shard->counted.refused_no_room++;
    return -ENOSPC;
  }
  oap_slot *slot = &shard->slots[number];
  word = oap_word_reserved(atomic_load_explicit(&slot->word, memory_order_relaxed));
  oap_index_prepare(&shard->index, number);
  atomic_store_explicit(&slot->word, word, memory_order_release);
  fill_in(shard, number, bytes, extents, pieces);
  uint32_t other = oap_index_find_other(&shard->index, key);
  oap_index_insert(&shard->index, number, key);
  slot->checksum = oap_slot_checksum(slot);
  if (other == 0) {
    oap_order_insert(&shard->order, number);
  } else {
    oap_order_insert_like(&shard->order, number, other);
  }
  count_pinned(oap_shard_counters(shard), bytes);
  describe(shard, number, word, out);
  return 0;
}

static int lock_and_reserve(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes,
                            unsigned asks, bool is_handed, oap_chunk *out) {
  if (bytes == 0) {
    return -EINVAL;
  }
  /* What a reservation looks at and is seldom in a cache comes all at once. */
  oap_index_prefetch(&shard->index, key);
  oap_order_prefetch(&shard->order, key->hash);
  pthread_mutex_lock(&shard->lock);
  int result = -ESHUTDOWN;
  if (!shard->retired) {
    asks = is_handed ? oap_order_worth(&shard->order, key->hash, asks) : asks;
    result = reserve(shard, key, bytes, asks, out);
    if (result == 0 && is_handed) {
      oap_order_credit(&shard->order, key->hash, asks);
    }
  }
  bool is_short = oap_shard_is_short_of_slots(shard);
  pthread_mutex_unlock(&shard->lock);
  if (is_short) {
    oap_shard_add_slots(shard);
  }
  return result;
}

int oap_shard_reserve(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes, bool may_evict,
                      oap_chunk *out) {
  return lock_and_reserve(shard, key, bytes, may_evict ? OAP_BY_TURN : 0, false, out);
}

int oap_shard_reserve_handed(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes,
                             unsigned asks, oap_chunk *out) {
  return lock_and_reserve(shard, key, bytes, asks, true, out);
}

/* The slot a chunk names, if it still is what the chunk says; *word gets its word. */
static oap_slot *slot_of(oap_shard *shard, const oap_chunk *chunk, uint64_t *word) {
  if (chunk->slot == 0 || chunk->slot > shard->slot_room) {
    return NULL;
  }
  oap_slot *slot = &shard->slots[chunk->slot];
  *word = atomic_load_explicit(&slot->word, memory_order_acquire);
  return oap_word_generation(*word) == chunk->generation ? slot : NULL;
}

int oap_shard_publish(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  if (slot == NULL) {
    return -EINVAL;
  }
  enum oap_state now = oap_word_state(word);
  if (shard->is_kept && (now == OAP_LOADING || now == OAP_DOOMED)) {
    slot->content = oap_content_hash(shard, slot);
    slot->checksum = oap_slot_checksum(slot);
  }
  for (;;) {
    enum oap_state state = oap_word_state(word);
    if (state != OAP_LOADING && state != OAP_DOOMED) {
      return -EINVAL;
    }
    bool seen = state == OAP_LOADING;
    uint64_t published = oap_word_with_state(word, seen ? OAP_PUBLISHED : OAP_DROPPED) + 1;
    if (atomic_compare_exchange_weak_explicit(&slot->word, &word, published, memory_order_acq_rel,
                                              memory_order_acquire)) {
      oap_count(&oap_shard_counters(shard)->publishes, 1);
      if (seen) {
        oap_count_visible(shard->counters, 1);
      }
      return 0;
    }
  }
}

int oap_shard_set_note(oap_shard *shard, const oap_chunk *chunk, uint64_t note) {
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  enum oap_state state = slot == NULL ? OAP_FREE : oap_word_state(word);
  if (state != OAP_LOADING && state != OAP_DOOMED) {
    return -EINVAL;
  }
  slot->note = note; /* publish hands it on, with the bytes */
  return 0;
}

int oap_shard_note(oap_shard *shard, const oap_chunk *chunk, uint64_t *note) {
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  if (slot == NULL || oap_word_pins(word) == 0) {
    return -EINVAL;
  }
  *note = slot->note;
  return 0;
}

int oap_shard_is_readable(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  if (slot == NULL || oap_word_pins(word) == 0) {
    return -EINVAL;
  }
  return oap_content_is_readable(shard, slot) ? 0 : -EIO;
}

/* Unlocks the shard, then gives to the system what is left over. */
static void unlock(oap_shard *shard, const oap_leftover *left) {
  pthread_mutex_unlock(&shard->lock);
  if (left->count > 0) {
    oap_stripe_release_leftover(shard, left);
  }
}

/* Frees what a slot holds whose word says FREE, and unlocks the shard. */
static void free_and_unlock(oap_shard *shard, uint32_t number) {
  oap_leftover left = {.count = 0};
  oap_room_free(shard, number, &left);
  unlock(shard, &left);
}

int oap_shard_trim(oap_shard *shard, oap_chunk *chunk, uint64_t bytes) {
  pthread_mutex_lock(&shard->lock);
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  enum oap_state state = slot == NULL ? OAP_FREE : oap_word_state(word);
  if ((state != OAP_LOADING && state != OAP_DOOMED) || bytes == 0 || bytes > slot->bytes) {
    pthread_mutex_unlock(&shard->lock);
    return -EINVAL;
  }
  oap_leftover left = {.count = 0};
  uint64_t before = slot->bytes;
  oap_room_trim(shard, chunk->slot, bytes, &left);
  if (state == OAP_LOADING) { /* else it has left its queue */
    oap_order_trim(&shard->order, chunk->slot, bytes);
  }
  slot->bytes = bytes;
  slot->checksum = oap_slot_checksum(slot);
  oap_count(&oap_shard_counters(shard)->pinned, OAP_PINNED(bytes) - OAP_PINNED(before));
  describe(shard, chunk->slot, word, chunk);
  unlock(shard, &left);
  return 0;
}

int oap_shard_abandon(oap_shard *shard, const oap_chunk *chunk) {
  pthread_mutex_lock(&shard->lock);
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  enum oap_state state = slot == NULL ? OAP_FREE : oap_word_state(word);
  if (state != OAP_LOADING && state != OAP_DOOMED) {
    pthread_mutex_unlock(&shard->lock);
    return -EINVAL;
  }
  atomic_store_explicit(&slot->word, oap_word_freed(word), memory_order_release);
  if (state == OAP_LOADING) {
    oap_index_remove(&shard->index, chunk->slot);
    oap_order_remove(&shard->order, chunk->slot);
  }
  count_unpinned(shard, chunk->bytes);
  shard->counted.abandons++;
  free_and_unlock(shard, chunk->slot);
  return 0;
}

/* Hashes an unverified chunk that is pinned, so that later pins need not. A wrong one, or one that
 * the disk does not give, is dropped, and false. Threads that come at the same time each do it. */
static bool verify(oap_shard *shard, uint32_t number, uint64_t before) {
  oap_slot *slot = &shard->slots[number];
  if (oap_content_is_readable(shard, slot) && oap_content_hash(shard, slot) == slot->content) {
    atomic_fetch_and_explicit(&slot->word, ~OAP_UNVERIFIED, memory_order_relaxed);
    return true;
  }
  pthread_mutex_lock(&shard->lock);
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
  if (oap_word_state(word) == OAP_PUBLISHED) { /* of this generation, since it is pinned */
    oap_room_drop(shard, number);
    shard->counted.damaged++;
  }
  pthread_mutex_unlock(&shard->lock);
  if (oap_word_pins(before) == 0) {
    count_pinned(oap_shard_counters(shard), slot->bytes);
  }
  oap_chunk chunk;
  describe(shard, number, before, &chunk);
  oap_shard_unpin(shard, &chunk);
  return false;
}

int oap_shard_pin(oap_shard *shard, const oap_hashed_key *key, bool is_use, oap_chunk *out) {
  uint64_t before;
  uint32_t number = oap_index_pin(&shard->index, key, is_use, &before);
  if (number != 0 && (before & OAP_UNVERIFIED) != 0 && !verify(shard, number, before)) {
    number = 0;
  }
  oap_counters *counters = oap_shard_counters(shard);
  if (is_use) {
    oap_count(number == 0 ? &counters->misses : &counters->hits, 1);
  }
  if (number == 0) {
    return -ENOENT;
  }
  if (is_use && shard->order.policy->used != NULL) {
    shard->order.policy->used(&shard->order, number);
  }
  if (oap_word_pins(before) == 0) {
    count_pinned(counters, shard->slots[number].bytes);
  }
  describe(shard, number, before, out);
  return 0;
}

int oap_shard_unpin(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = slot_of(shard, chunk, &word);
  if (slot == NULL || oap_word_pins(word) == 0) {
    return -EINVAL;
  }
  uint64_t before = atomic_fetch_sub_explicit(&slot->word, 1, memory_order_acq_rel);
  if (oap_word_pins(before) > 1) {
    return 0;
  }
  count_unpinned(shard, chunk->bytes);
  if (oap_word_state(before) == OAP_DROPPED) {
    /* No new pin can come to a dropped chunk, so this thread alone saw the last one go. */
    pthread_mutex_lock(&shard->lock);
    atomic_store_explicit(&slot->word, oap_word_freed(before), memory_order_release);
    free_and_unlock(shard, chunk->slot);
  }
  return 0;
}

bool oap_shard_is_held(oap_shard *shard, const oap_hashed_key *key) {
  uint64_t word;
  return oap_index_find(&shard->index, key, &word) != 0 && oap_word_state(word) == OAP_PUBLISHED;
}
