/* Chunks: see chunk.h. */
#include "chunk.h"

#include "shard/content.h"
#include "shard/pin.h"
#include "shard/room.h"

#include <errno.h>

static void fill_in(oap_shard *shard, uint32_t number, uint64_t bytes,
                    const uint32_t extents[OAP_MAX_PIECES], uint32_t pieces) {
  oap_slot *slot = &shard->slots[number];
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
    oap_room_unpoison(shard, extent->position, part);
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
  bool is_first = true;
  if (shard->commons == NULL) {
    slot->bytes = bytes;
  } else { /* before the word says that it is being loaded */
    _Atomic uint32_t *pins = oap_own_pins(&shard->holders, number);
    atomic_load(pins);   /* whoever had them has read what is written over now */
    slot->bytes = bytes; /* a pin in vain may count them from here on */
    is_first = atomic_fetch_add(pins, 1) == 0;
  }
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
  if (is_first) {
    oap_pin_count(shard, bytes);
  }
  oap_pin_describe(shard, number, word, out);
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
  if (!oap_shard_lock(shard)) {
    bool has_left = atomic_load(&shard->has_left);
    oap_count(&oap_shard_counters(shard)->stuck, !has_left);
    return has_left ? -ESHUTDOWN : -ENOSPC;
  }
  int result = -ESHUTDOWN;
  if (!atomic_load(&shard->retired)) {
    asks = is_handed ? oap_order_worth(&shard->order, key->hash, asks) : asks;
    result = reserve(shard, key, bytes, asks, out);
    if (result == 0 && is_handed) {
      oap_order_credit(&shard->order, key->hash, asks);
    }
  }
  bool is_short = oap_shard_is_short_of_slots(shard);
  oap_shard_unlock(shard);
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

int oap_shard_publish(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  if (slot == NULL) {
    return -EINVAL;
  }
  enum oap_state now = oap_word_state(word);
  if (shard->is_kept && (now == OAP_LOADING || now == OAP_DOOMED)) {
    slot->content = oap_content_hash(shard, slot);
    /* Behind the content: whenever another process looks, this sum or the one before is right. */
    atomic_store_explicit(&slot->checksum, oap_slot_checksum(slot), memory_order_release);
  }
  for (;;) {
    enum oap_state state = oap_word_state(word);
    if (state != OAP_LOADING && state != OAP_DOOMED) {
      return -EINVAL;
    }
    bool seen = state == OAP_LOADING;
    uint64_t published = oap_word_with_state(word, seen ? OAP_PUBLISHED : OAP_DROPPED);
    published += shard->commons == NULL; /* else this process has counted its pin already */
    if (atomic_compare_exchange_weak_explicit(&slot->word, &word, published, memory_order_acq_rel,
                                              memory_order_acquire)) {
      oap_count(&oap_shard_counters(shard)->publishes, 1);
      if (seen) {
        oap_shard_count_visible(shard, 1);
      }
      return 0;
    }
  }
}

int oap_shard_set_note(oap_shard *shard, const oap_chunk *chunk, uint64_t note) {
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  enum oap_state state = slot == NULL ? OAP_FREE : oap_word_state(word);
  if (state != OAP_LOADING && state != OAP_DOOMED) {
    return -EINVAL;
  }
  slot->note = note; /* publish hands it on, with the bytes */
  return 0;
}

int oap_shard_abandon(oap_shard *shard, const oap_chunk *chunk) {
  bool is_locked = oap_shard_lock(shard);
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  enum oap_state state = slot == NULL ? OAP_FREE : oap_word_state(word);
  if (state != OAP_LOADING && state != OAP_DOOMED) {
    if (is_locked) {
      oap_shard_unlock(shard);
    }
    return -EINVAL;
  }
  if (shard->commons == NULL ||
      atomic_fetch_sub(oap_own_pins(&shard->holders, chunk->slot), 1) == 1) {
    oap_pin_uncount(shard, chunk->bytes);
  }
  if (!is_locked) { /* nobody loads it any more, so a sweep takes it */
    atomic_store(&shard->has_leftovers, true);
    return 0;
  }
  atomic_store_explicit(&slot->word, oap_word_freed(word), memory_order_release);
  if (state == OAP_LOADING) {
    oap_index_remove(&shard->index, chunk->slot);
    oap_order_remove(&shard->order, chunk->slot);
  }
  shard->counted.abandons++;
  oap_pin_free_and_unlock(shard, chunk->slot);
  return 0;
}
