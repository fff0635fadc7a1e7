/*
 * How a shard grows and shrinks. Its tables and addresses are made for the most it can become; only
 * the limit of its regions moves. Chunks above a limit that sinks are not moved: they are evicted,
 * or dropped where they are in use.
 */
#include "arena.h"
#include "room.h"

const oap_range *oap_shard_range_of(const oap_shard *shard, uint64_t position) {
  const oap_range *range = shard->ranges;
  while (position - range->position >= range->bytes) {
    range++;
  }
  return range;
}

static uint64_t limit_at(const oap_shard *shard, uint64_t position) {
  return oap_shard_range_of(shard, position)->position + shard->part;
}

/* The largest chunk fills the largest few regions. */
static uint64_t most_bytes(const oap_shard *shard) {
  uint64_t largest[OAP_MAX_PIECES] = {0};
  for (uint32_t r = 0; r < shard->range_count; r++) {
    uint64_t end = shard->ranges[r].position + shard->part;
    for (uint64_t at = shard->ranges[r].position; at < end;) {
      uint64_t window_end = (at / OAP_WINDOW_BYTES + 1) * OAP_WINDOW_BYTES;
      uint64_t length = (window_end < end ? window_end : end) - at;
      at += length;
      for (int i = 0; i < OAP_MAX_PIECES; i++) {
        if (length > largest[i]) {
          uint64_t smaller = largest[i];
          largest[i] = length;
          length = smaller;
        }
      }
    }
  }
  return largest[0] + largest[1] + largest[2] + largest[3];
}

static bool lies_above(const oap_shard *shard, const oap_slot *slot) {
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    const oap_extent *extent = &shard->space.extents[slot->extent[i]];
    if (extent->position + (uint64_t)extent->units * OAP_ALIGNMENT >
        limit_at(shard, extent->position)) {
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
    oap_shard_drop_slot(shard, number);
  }
}

void oap_shard_set_resizing(oap_shard *shard, bool resizing) {
  pthread_mutex_lock(&shard->lock);
  shard->is_resizing = resizing;
  while (resizing && shard->releasing > 0) {
    pthread_cond_wait(&shard->released, &shard->lock);
  }
  pthread_mutex_unlock(&shard->lock);
}

void oap_shard_resize(oap_shard *shard, uint64_t part) {
  pthread_mutex_lock(&shard->lock);
  bool shrinks = part < shard->part;
  shard->part = part;
  shard->capacity = part * shard->range_count;
  shard->order.capacity = shard->capacity;
  uint32_t slots = oap_shard_slots_for(shard->capacity);
  shard->slot_limit = slots < shard->slot_room ? slots : shard->slot_room;
  shard->most_bytes = most_bytes(shard);
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint32_t first = shard->regions[r];
    oap_space_limit(&shard->space, first, limit_at(shard, shard->space.extents[first].position));
  }
  /* Whatever comes while the lock is away lies below the limit. */
  for (uint32_t i = 1; shrinks && i <= shard->slot_top; i++) {
    clear_slot_above(shard, i);
    if (i % OAP_SLOTS_AT_ONCE == 0) {
      pthread_mutex_unlock(&shard->lock);
      pthread_mutex_lock(&shard->lock);
    }
  }
  pthread_mutex_unlock(&shard->lock);
}

static void release_range(const oap_shard *shard, uint64_t start, uint64_t end) {
  const oap_range *range = oap_shard_range_of(shard, start);
  const oap_arena *arena = &shard->arenas[range - shard->ranges];
  oap_arena_release(arena, start - arena->position, end - start);
}

void oap_shard_leave(oap_shard *shard, oap_leftover *left, uint32_t away, uint64_t start,
                     uint64_t end) {
  enum { LARGEST_PAGE = 1 << 21 };
  const oap_extent *extent = &shard->space.extents[away];
  uint64_t away_end = extent->position + (uint64_t)extent->units * OAP_ALIGNMENT;
  start = start / LARGEST_PAGE * LARGEST_PAGE;
  end = (end / LARGEST_PAGE + 1) * LARGEST_PAGE;
  start = start > extent->position ? start : extent->position;
  end = end < away_end ? end : away_end;
  shard->releasing += left->count == 0;
  left->range[left->count++] = (oap_range){.position = start, .bytes = end - start};
}

void oap_shard_release_left(oap_shard *shard, const oap_leftover *left) {
  for (uint32_t i = 0; i < left->count; i++) {
    const oap_range *range = &left->range[i];
    release_range(shard, range->position, range->position + range->bytes);
  }
  pthread_mutex_lock(&shard->lock);
  if (--shard->releasing == 0) {
    pthread_cond_broadcast(&shard->released);
  }
  pthread_mutex_unlock(&shard->lock);
}

/* The first part of a region, from a position on, that is away; its start and end. What was seen
 * before may have grown since, by chunks that went. */
static bool next_away(oap_shard *shard, uint32_t region, uint64_t from, uint64_t *start,
                      uint64_t *end) {
  bool found = false;
  pthread_mutex_lock(&shard->lock);
  for (uint32_t e = region; e != 0 && !found; e = shard->space.extents[e].next) {
    const oap_extent *extent = &shard->space.extents[e];
    *start = extent->position > from ? extent->position : from;
    *end = extent->position + (uint64_t)extent->units * OAP_ALIGNMENT;
    found = extent->owner == OAP_AWAY && *end > from;
  }
  pthread_mutex_unlock(&shard->lock);
  return found;
}

void oap_shard_release(oap_shard *shard, uint64_t part) {
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint64_t start;
    uint64_t end;
    for (uint64_t from = 0; next_away(shard, shard->regions[r], from, &start, &end); from = end) {
      uint64_t most = oap_shard_range_of(shard, start)->position + part;
      uint64_t used_end = end < most ? end : most;
      if (start < used_end) {
        release_range(shard, start, used_end);
      }
    }
  }
}

const char *oap_shard_validate_limits(const oap_shard *shard) {
  uint64_t units = 0;
  for (uint32_t r = 0; r < shard->range_count; r++) {
    units += shard->ranges[r].bytes / OAP_ALIGNMENT;
  }
  uint64_t seen = 0;
  for (uint32_t r = 0; r < shard->region_count; r++) {
    for (uint32_t e = shard->regions[r]; e != 0; e = shard->space.extents[e].next) {
      const oap_extent *extent = &shard->space.extents[e];
      uint64_t limit = limit_at(shard, extent->position);
      uint64_t end = extent->position + (uint64_t)extent->units * OAP_ALIGNMENT;
      seen += extent->units;
      if ((extent->owner == 0 && end > limit) ||
          (extent->owner == OAP_AWAY && extent->position < limit)) {
        return "shard: extent on the wrong side of the limit";
      }
    }
  }
  return seen == units ? NULL : "shard: regions do not add up";
}
