/* Room: see room.h. */
#include "room.h"

#include "poison.h"

/* One part in so many of the capacity may lie scattered for the sake of chunks in one piece. */
#define SCATTERED_PART 80

uint32_t oap_room_give(oap_shard *shard, uint32_t number) {
  oap_slot *slot = &shard->slots[number];
  uint32_t largest = 0;
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    const oap_extent *extent = &shard->space.extents[slot->extent[i]];
    OAP_POISON(oap_shard_address(shard, extent->position), (uint64_t)extent->units * OAP_ALIGNMENT);
    uint64_t start = extent->position;
    uint64_t end = start + (uint64_t)extent->units * OAP_ALIGNMENT;
    uint64_t limit = oap_shard_range_of(shard, start)->position + shard->part;
    uint32_t away;
    uint32_t hole = oap_space_give(&shard->space, slot->extent[i], limit, &away);
    if (away != 0 && !shard->is_resizing) {
      oap_shard_release_at(shard, away, start, end);
    }
    if (hole == 0) {
      continue;
    }
    if (largest == 0 || shard->space.extents[largest].units == 0 ||
        shard->space.extents[hole].units >= shard->space.extents[largest].units) {
      largest = hole;
    }
  }
  slot->queue_next = shard->slot_free;
  shard->slot_free = number;
  return largest;
}

/* Removes a victim that has been claimed and taken off its queue; returns the hole it leaves. */
static uint32_t evict(oap_shard *shard, uint32_t victim) {
  oap_index_remove(&shard->index, victim);
  shard->counted.evictions++;
  shard->counted.evicted_bytes += shard->slots[victim].bytes;
  oap_shard_count_visible(shard, -1);
  return oap_room_give(shard, victim);
}

bool oap_room_evict(oap_shard *shard, uint32_t slot) {
  if (!oap_order_evict_this(&shard->order, slot)) {
    return false;
  }
  evict(shard, slot);
  return true;
}

/* What the largest runs of extents that are free or could be add up to, by walking all of them. */
static uint64_t largest_runs(const oap_shard *shard) {
  uint64_t best[OAP_MAX_PIECES] = {0};
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint64_t run = 0;
    for (uint32_t e = shard->regions[r]; e != 0; e = shard->space.extents[e].next) {
      const oap_extent *extent = &shard->space.extents[e];
      bool usable = extent->owner != OAP_AWAY &&
                    (extent->owner == 0 || oap_is_evictable(&shard->slots[extent->owner]));
      run = usable ? run + extent->units : run;
      if (!usable || extent->next == 0) {
        for (int i = 0; i < OAP_MAX_PIECES; i++) {
          uint64_t better = best[i] > run ? best[i] : run;
          run = best[i] > run ? run : best[i];
          best[i] = better;
        }
        run = 0;
      }
    }
  }
  return best[0] + best[1] + best[2] + best[3];
}

/* Whether room for so many units can be made, given what is pinned now. */
static bool can_make_room(oap_shard *shard, uint64_t units) {
  uint64_t pinned_bytes;
  uint64_t pinned_chunks = oap_shard_pinned(shard, &pinned_bytes);
  uint64_t pinned_units = pinned_bytes / OAP_ALIGNMENT;
  uint64_t all_units = shard->capacity / OAP_ALIGNMENT;
  if (pinned_units < all_units) {
    /* Pinned pieces cut the rest into so many holes at most; the largest are not below average. */
    uint64_t holes = OAP_MAX_PIECES * pinned_chunks + shard->region_count;
    uint64_t sure = (all_units - pinned_units) / holes;
    if (units <= sure * (holes < OAP_MAX_PIECES ? holes : OAP_MAX_PIECES)) {
      return true;
    }
  }
  return largest_runs(shard) >= units;
}

static bool has_slot(const oap_shard *shard) {
  return shard->slot_free != 0 || shard->slot_top < shard->slot_limit;
}

/* Takes extents and a slot to own them; 0: there are none, in so few pieces. */
static uint32_t take(oap_shard *shard, uint64_t units, uint32_t most_pieces,
                     uint32_t extents[OAP_MAX_PIECES], uint32_t *pieces) {
  if (!has_slot(shard)) {
    return 0;
  }
  uint32_t slot = shard->slot_free != 0 ? shard->slot_free : shard->slot_top + 1;
  *pieces = oap_space_take(&shard->space, slot, units, most_pieces, extents);
  if (*pieces == 0) {
    return 0;
  }
  if (slot == shard->slot_free) {
    shard->slot_free = shard->slots[slot].queue_next;
  } else {
    shard->slot_top = slot;
  }
  return slot;
}

/* Evicts the owner of an extent if the policy lets go of it. */
static bool evict_neighbour(oap_shard *shard, uint32_t extent) {
  uint32_t owner = extent == 0 ? 0 : shard->space.extents[extent].owner;
  if (owner == 0 || owner == OAP_AWAY || !oap_order_evict_old(&shard->order, owner)) {
    return false;
  }
  evict(shard, owner);
  return true;
}

static bool is_free(const oap_shard *shard, uint32_t extent) {
  return extent != 0 && shard->space.extents[extent].units != 0 &&
         shard->space.extents[extent].owner == 0;
}

/* Widens a hole over its neighbours until so many units fit or they are worth more. */
static void widen(oap_shard *shard, uint32_t hole, uint64_t units) {
  const oap_extent *extents = shard->space.extents;
  while (is_free(shard, hole) && extents[hole].units < units) {
    uint32_t before = extents[hole].previous;
    uint32_t further = before == 0 ? 0 : extents[before].previous;
    if (!evict_neighbour(shard, extents[hole].next) && !evict_neighbour(shard, before)) {
      return;
    }
    /* An extent takes in the one after it, so the hole may now have an earlier one's number. */
    hole = is_free(shard, hole) ? hole : is_free(shard, before) ? before : further;
  }
}

uint32_t oap_room_take(oap_shard *shard, uint64_t units, uint32_t extents[OAP_MAX_PIECES],
                       uint32_t *pieces) {
  bool checked = false;
  uint64_t scattered = shard->capacity / OAP_ALIGNMENT / SCATTERED_PART;
  for (;;) {
    uint32_t most = shard->space.free_units >= units + scattered ? OAP_MAX_PIECES : 1;
    uint32_t slot = take(shard, units, most, extents, pieces);
    if (slot != 0) {
      return slot;
    }
    if (!checked && !can_make_room(shard, units)) {
      return 0;
    }
    checked = true;
    oap_shard_pinned(shard, &shard->order.pinned_bytes);
    uint32_t victim = oap_order_evict(&shard->order);
    if (victim == 0) {
      return take(shard, units, OAP_MAX_PIECES, extents, pieces);
    }
    widen(shard, evict(shard, victim), units);
  }
}

uint32_t oap_room_take_free(oap_shard *shard, uint64_t units, uint32_t extents[OAP_MAX_PIECES],
                            uint32_t *pieces) {
  return take(shard, units, OAP_MAX_PIECES, extents, pieces);
}
