/* Growing and shrinking: see resize.h. */
#include "resize.h"

#include "shard/room.h"
#include "shard/stripe.h"

#include <errno.h>

/* Bytes of a region that are in use. */
static uint64_t used_of(const oap_shard *shard, uint32_t region) {
  uint64_t start = shard->space.extents[region].position;
  uint64_t window_end = (start / OAP_WINDOW_BYTES + 1) * OAP_WINDOW_BYTES;
  uint64_t end = oap_least(oap_stripe_limit(shard, start), window_end);
  return end > start ? end - start : 0;
}

/* The largest chunk fills the largest few regions. */
static uint64_t most_bytes(const oap_shard *shard) {
  uint64_t largest[OAP_MAX_PIECES] = {0};
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint64_t length = used_of(shard, shard->regions[r]);
    for (int i = 0; i < OAP_MAX_PIECES; i++) {
      uint64_t smaller = oap_least(length, largest[i]);
      largest[i] = oap_most(length, largest[i]);
      length = smaller;
    }
  }
  return largest[0] + largest[1] + largest[2] + largest[3];
}

static bool lies_above(const oap_shard *shard, const oap_slot *slot) {
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    const oap_extent *extent = &shard->space.extents[slot->extent[i]];
    if (oap_extent_end(extent) > oap_stripe_limit(shard, extent->position)) {
      return true;
    }
  }
  return false;
}

static void clear_slot_above(oap_shard *shard, uint32_t number) {
  const oap_slot *slot = &shard->slots[number];
  enum oap_state state = oap_word_state(atomic_load_explicit(&slot->word, memory_order_acquire));
  if ((state == OAP_PUBLISHED || state == OAP_LOADING) && lies_above(shard, slot) &&
      !oap_room_evict(shard, number)) {
    oap_room_drop(shard, number);
  }
}

/* Under the lock. */
static void set_part(oap_shard *shard, uint64_t part) {
  shard->part = part;
  shard->capacity = part * shard->stripe_count;
  shard->order.capacity = shard->capacity;
  shard->slot_limit = (uint32_t)oap_least(oap_shard_slots_for(shard->capacity), shard->slot_room);
  shard->most_bytes = most_bytes(shard);
}

int oap_shard_join(oap_shard *shard, uint64_t part) {
  if (!oap_shard_lock(shard)) {
    return -EBUSY;
  }
  set_part(shard, part);
  oap_shard_unlock(shard);
  return 0;
}

void oap_shard_resize(oap_shard *shard, uint64_t part) {
  oap_shard_lock(shard); /* in a shared shard the first process is alone when it does this */
  bool shrinks = part < shard->part;
  set_part(shard, part);
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint32_t first = shard->regions[r];
    oap_space_limit(&shard->space, first,
                    oap_stripe_limit(shard, shard->space.extents[first].position));
  }
  /* Whatever comes while the lock is away lies below the limit. */
  for (uint32_t i = 1; shrinks && i <= shard->slot_top; i++) {
    clear_slot_above(shard, i);
    oap_shard_yield(shard, i);
  }
  oap_shard_unlock(shard);
}
