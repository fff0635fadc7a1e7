/* Room: see room.h. */
#include "room.h"

#include "arena/poison.h"

#include <string.h>

/* One part in so many of the capacity may lie scattered, so that chunks get one piece. */
#define SCATTERED_PART 80

/* How many extents a search for room looks at. */
#define LOOKS 256

/* When the policy's victims add up to so many times what is wanted, and the room still lies in too
 * many places between pinned chunks, chunks that lie together are evicted instead. For a chunk that
 * another pool hands over that is the end. */
#define PATIENCE 4

void oap_room_unpoison(const oap_shard *shard, uint64_t position, uint64_t bytes) {
  if (shard->commons == NULL) {
    OAP_UNPOISON(oap_shard_address(shard, position), bytes);
  }
}

/* Frees an extent; as oap_space_free. */
static uint32_t free_extent(oap_shard *shard, uint32_t number, oap_leftover *left) {
  const oap_extent *extent = &shard->space.extents[number];
  uint64_t start = extent->position;
  uint64_t end = oap_extent_end(extent);
  if (shard->commons == NULL) {
    OAP_POISON(oap_shard_address(shard, start), end - start);
  }
  uint32_t away;
  uint32_t hole = oap_space_free(&shard->space, number, oap_stripe_limit(shard, start), &away);
  if (away != 0 && left != NULL && !shard->is_resizing) {
    oap_stripe_add_leftover(shard, left, away, start, end);
  }
  return hole;
}

uint32_t oap_room_free(oap_shard *shard, uint32_t number, oap_leftover *left) {
  oap_slot *slot = &shard->slots[number];
  uint32_t largest = 0;
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    uint32_t hole = free_extent(shard, slot->extent[i], left);
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
  return oap_room_free(shard, victim, NULL);
}

bool oap_room_evict(oap_shard *shard, uint32_t slot) {
  if (!oap_order_evict_this(&shard->order, slot)) {
    return false;
  }
  evict(shard, slot);
  return true;
}

void oap_room_drop(oap_shard *shard, uint32_t number) {
  oap_slot *slot = &shard->slots[number];
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  uint64_t dropped;
  bool is_alone = shard->commons == NULL;
  do {
    if (oap_word_state(word) == OAP_LOADING) {
      dropped = oap_word_with_state(word, OAP_DOOMED);
    } else if (!is_alone || oap_word_pins(word) > 0) {
      dropped = oap_word_with_state(word, OAP_DROPPED);
    } else {
      dropped = oap_word_freed(word);
    }
  } while (!atomic_compare_exchange_weak(&slot->word, &word, dropped));
  if (!is_alone && oap_word_state(dropped) == OAP_DROPPED &&
      oap_is_unpinned(&shard->holders, number, dropped)) { /* no pin comes to it from here on */
    dropped = oap_word_freed(dropped);
    atomic_store(&slot->word, dropped);
  }
  oap_index_remove(&shard->index, number);
  oap_order_remove(&shard->order, number);
  shard->counted.drops++;
  if (oap_word_state(word) == OAP_PUBLISHED) {
    oap_shard_count_visible(shard, -1);
  }
  if (oap_word_state(dropped) == OAP_FREE) {
    oap_room_free(shard, number, NULL);
  }
}

/* Extents side by side that are free or could be. */
typedef struct run {
  uint32_t first;
  uint64_t units;
} run;

/* Puts a run among the longest, which are in order, if it is one of them. */
static void keep_longest(run best[OAP_MAX_PIECES], run found) {
  for (int i = 0; i < OAP_MAX_PIECES; i++) {
    if (found.units > best[i].units) {
      run shorter = best[i];
      best[i] = found;
      found = shorter;
    }
  }
}

static bool could_be_free(const oap_shard *shard, uint32_t extent) {
  uint32_t owner = shard->space.extents[extent].owner;
  return owner == 0 ||
         (owner != OAP_AWAY && oap_is_evictable(&shard->holders, shard->slots, owner));
}

/* Where a search starts: at the hand, unless what it stood on is gone; or at the beginning, if the
 * search goes all around anyhow, since there no run is cut in two. */
static oap_hand start_of(const oap_shard *shard, uint32_t extents) {
  bool goes_around = extents <= LOOKS;
  return goes_around || shard->space.extents[shard->hand.extent].units == 0
             ? (oap_hand){.region = 0, .extent = shard->regions[0]}
             : shard->hand;
}

/* Searches runs that add up to so many units, at most LOOKS extents far; *end gets where it ended.
 * The hand moves there only if there are none, so that another search finds them again. Misses
 * none in a shard of no more extents. */
static bool find_room(oap_shard *shard, uint64_t units, run best[OAP_MAX_PIECES], oap_hand *end) {
  const oap_extent *extents = shard->space.extents;
  uint32_t all = oap_space_extents(&shard->space);
  *end = start_of(shard, all);
  memset(best, 0, OAP_MAX_PIECES * sizeof(*best));
  run now = {0};
  for (uint32_t looks = all < LOOKS ? all : LOOKS; looks > 0; looks--) {
    const oap_extent *extent = &extents[end->extent];
    bool usable = could_be_free(shard, end->extent);
    if (usable) {
      now.first = now.units == 0 ? end->extent : now.first;
      now.units += extent->units;
    }
    bool is_enough = now.units + best[0].units + best[1].units + best[2].units >= units;
    if (is_enough || !usable || extent->next == 0) {
      keep_longest(best, now);
      now = (run){0};
    }
    if (is_enough) {
      return true;
    }
    end->region = extent->next == 0 ? (end->region + 1) % shard->region_count : end->region;
    end->extent = extent->next == 0 ? shard->regions[end->region] : extent->next;
  }
  shard->hand = *end;
  return false;
}

/* Whether there is room for so many units wherever the pinned chunks lie. */
static bool is_sure(const oap_shard *shard, uint64_t pinned_chunks, uint64_t units) {
  uint64_t pinned_units = shard->order.pinned_bytes / OAP_ALIGNMENT;
  uint64_t all_units = shard->capacity / OAP_ALIGNMENT;
  if (pinned_units >= all_units) {
    return false;
  }
  /* Pinned pieces cut the rest into so many holes at most; the largest are not below average. */
  uint64_t holes = OAP_MAX_PIECES * pinned_chunks + shard->region_count;
  uint64_t sure = (all_units - pinned_units) / holes;
  return units <= sure * (holes < OAP_MAX_PIECES ? holes : OAP_MAX_PIECES);
}

static bool has_slot(const oap_shard *shard) {
  bool has = shard->slot_free != 0 || (shard->slot_top < shard->slot_limit &&
                                       oap_shard_is_ready(shard, shard->slot_top + 1));
  return has && oap_shard_has_extents(shard);
}

/* Takes extents and a slot to own them; 0: there are none, in so few pieces. */
static uint32_t allocate(oap_shard *shard, uint64_t units, uint32_t most_pieces,
                         uint32_t extents[OAP_MAX_PIECES], uint32_t *pieces) {
  if (!has_slot(shard)) {
    return 0;
  }
  uint32_t slot = shard->slot_free != 0 ? shard->slot_free : shard->slot_top + 1;
  *pieces = oap_space_allocate(&shard->space, slot, units, most_pieces, extents);
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

/* Evicts what is in a run, until it comes to what has been pinned since. */
static void clear_run(oap_shard *shard, run r) {
  const oap_extent *extents = shard->space.extents;
  uint64_t end = extents[r.first].position + r.units * OAP_ALIGNMENT;
  uint32_t before = extents[r.first].previous;
  uint32_t region = before == 0 ? r.first : 0; /* which stays the first of its region */
  for (;;) {
    /* From the run's start each time: what is free by now is one extent, whatever its number. */
    uint32_t e = before == 0 ? region : extents[before].next;
    e = e != 0 && extents[e].owner == 0 ? extents[e].next : e;
    uint32_t owner = e == 0 || extents[e].position >= end ? 0 : extents[e].owner;
    if (owner == 0 || owner == OAP_AWAY || !oap_room_evict(shard, owner)) {
      return;
    }
  }
}

/* Takes room that lies together, whoever has it, but for what is in use. */
static uint32_t allocate_together(oap_shard *shard, uint64_t units,
                                  uint32_t extents[OAP_MAX_PIECES], uint32_t *pieces) {
  run best[OAP_MAX_PIECES];
  oap_hand end;
  if (find_room(shard, units, best, &end)) {
    for (int i = 0; i < OAP_MAX_PIECES && best[i].units > 0; i++) {
      clear_run(shard, best[i]);
    }
    shard->hand = end;
  }
  return allocate(shard, units, OAP_MAX_PIECES, extents, pieces);
}

uint32_t oap_room_allocate(oap_shard *shard, uint64_t units, unsigned asks,
                           uint32_t extents[OAP_MAX_PIECES], uint32_t *pieces) {
  bool may_evict = asks > 0;
  uint64_t scattered = shard->capacity / OAP_ALIGNMENT / SCATTERED_PART;
  uint64_t evicted_before = shard->counted.evicted_bytes;
  uint64_t ask_at = 0; /* again after each such amount, since others pin meanwhile */
  bool sure = true;
  for (;;) {
    uint64_t pinned_chunks = oap_shard_pinned(shard, &shard->order.pinned_bytes);
    bool may_scatter = !may_evict || shard->space.free_units >= units + scattered;
    uint32_t slot = allocate(shard, units, may_scatter ? OAP_MAX_PIECES : 1, extents, pieces);
    if (slot != 0 || !may_evict) {
      return slot;
    }
    uint64_t evicted = (shard->counted.evicted_bytes - evicted_before) / OAP_ALIGNMENT;
    if (evicted >= ask_at) {
      run best[OAP_MAX_PIECES];
      oap_hand end;
      sure = is_sure(shard, pinned_chunks, units);
      if (!sure && !find_room(shard, units, best, &end)) {
        return allocate(shard, units, OAP_MAX_PIECES, extents, pieces);
      }
      ask_at = evicted + units;
    }
    bool is_by_turn = asks == OAP_BY_TURN;
    if (!(sure && is_by_turn) && may_scatter && evicted >= PATIENCE * units) {
      /* What lies together may be worth more than a chunk that is handed over. */
      return is_by_turn ? allocate_together(shard, units, extents, pieces) : 0;
    }
    uint32_t victim = oap_order_evict(&shard->order, asks);
    if (victim == 0) {
      return allocate(shard, units, OAP_MAX_PIECES, extents, pieces);
    }
    widen(shard, evict(shard, victim), units);
  }
}
