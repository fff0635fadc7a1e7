/* Space: see space.h. */
#include "space.h"

/* How many extents of one bin are looked at for the best fit. Keeps a search short when thousands
 * of extents have about the same size; those beyond differ by less than one bin's width. */
#define SEARCH_DEPTH 32

static unsigned log2_floor(uint32_t x) { return 31U - (unsigned)__builtin_clz(x); }

/* Bins are exact below 16 units, then 16 per doubling. */
unsigned oap_space_bin_of(uint32_t units) {
  if (units < OAP_BINS_PER_DOUBLING) {
    return units;
  }
  unsigned power = log2_floor(units);
  unsigned mantissa = (units >> (power - 4)) & (OAP_BINS_PER_DOUBLING - 1);
  return (power - 3) * OAP_BINS_PER_DOUBLING + mantissa;
}

static void bin_insert(oap_space *space, uint32_t e) {
  oap_extent *extent = &space->extents[e];
  unsigned bin = oap_space_bin_of(extent->units);
  extent->bin_previous = 0;
  extent->bin_next = space->bins[bin];
  if (extent->bin_next != 0) {
    space->extents[extent->bin_next].bin_previous = e;
  }
  space->bins[bin] = e;
  space->bitmap[bin / 64] |= UINT64_C(1) << (bin % 64);
  space->free_units += extent->units;
}

static void bin_remove(oap_space *space, uint32_t e) {
  oap_extent *extent = &space->extents[e];
  unsigned bin = oap_space_bin_of(extent->units);
  if (extent->bin_previous != 0) {
    space->extents[extent->bin_previous].bin_next = extent->bin_next;
  } else {
    space->bins[bin] = extent->bin_next;
    if (extent->bin_next == 0) {
      space->bitmap[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
    }
  }
  if (extent->bin_next != 0) {
    space->extents[extent->bin_next].bin_previous = extent->bin_previous;
  }
  extent->bin_previous = 0;
  extent->bin_next = 0;
  space->free_units -= extent->units;
}

static uint32_t describe(oap_space *space) {
  uint32_t e = space->unused;
  if (e != 0) {
    space->unused = space->extents[e].next;
  } else {
    e = ++space->top;
  }
  space->spare--;
  return e;
}

static void forget(oap_space *space, uint32_t e) {
  space->extents[e] = (oap_extent){.next = space->unused};
  space->unused = e;
  space->spare++;
}

void oap_space_init(oap_space *space, oap_extent *table, uint32_t limit) {
  *space = (oap_space){.extents = table, .limit = limit, .spare = limit - 1};
}

uint32_t oap_space_add_region(oap_space *space, uint64_t position, uint64_t bytes) {
  uint32_t e = describe(space);
  uint32_t units = (uint32_t)(bytes / OAP_ALIGNMENT);
  space->extents[e] = (oap_extent){.position = position, .units = units, .owner = OAP_AWAY};
  space->away_units += units;
  space->all_units += units;
  space->kept++;
  return e;
}

/* First non-empty bin at or above; OAP_BINS if there is none. */
static unsigned bin_at_or_above(const oap_space *space, unsigned bin) {
  for (unsigned word = bin / 64; word < OAP_BINS / 64; word++) {
    uint64_t bits = space->bitmap[word];
    if (word == bin / 64) {
      bits &= ~UINT64_C(0) << (bin % 64);
    }
    if (bits != 0) {
      return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
  }
  return OAP_BINS;
}

/* Smallest extent of a bin with at least so many units, as far as the search goes. */
static uint32_t best_in_bin(const oap_space *space, unsigned bin, uint32_t units) {
  uint32_t best = 0;
  uint32_t e = space->bins[bin];
  for (int i = 0; e != 0 && i < SEARCH_DEPTH; i++, e = space->extents[e].bin_next) {
    uint32_t have = space->extents[e].units;
    if (have >= units && (best == 0 || have < space->extents[best].units)) {
      best = e;
      if (have == units) {
        break;
      }
    }
  }
  return best;
}

static uint32_t best_fit(const oap_space *space, uint64_t units) {
  if (units > OAP_WINDOW_BYTES / OAP_ALIGNMENT) {
    return 0;
  }
  unsigned bin = bin_at_or_above(space, oap_space_bin_of((uint32_t)units));
  while (bin < OAP_BINS) {
    uint32_t e = best_in_bin(space, bin, (uint32_t)units);
    if (e != 0) {
      return e;
    }
    bin = bin_at_or_above(space, bin + 1);
  }
  return 0;
}

/* The largest free extent, as far as the search in its bin goes; 0 if nothing is free. */
static uint32_t largest(const oap_space *space) {
  for (unsigned word = OAP_BINS / 64; word-- > 0;) {
    if (space->bitmap[word] == 0) {
      continue;
    }
    unsigned bin = word * 64 + 63U - (unsigned)__builtin_clzll(space->bitmap[word]);
    uint32_t best = space->bins[bin];
    uint32_t e = space->extents[best].bin_next;
    for (int i = 1; e != 0 && i < SEARCH_DEPTH; i++, e = space->extents[e].bin_next) {
      if (space->extents[e].units > space->extents[best].units) {
        best = e;
      }
    }
    return best;
  }
  return 0;
}

/* Cuts an extent that is in no bin: the first units stay; returns the rest, of the same owner and
 * in no bin either. */
static uint32_t cut(oap_space *space, uint32_t e, uint32_t units) {
  uint32_t rest = describe(space);
  oap_extent *extent = &space->extents[e];
  space->extents[rest] = (oap_extent){
      .position = extent->position + (uint64_t)units * OAP_ALIGNMENT,
      .units = extent->units - units,
      .previous = e,
      .next = extent->next,
      .owner = extent->owner,
  };
  if (extent->next != 0) {
    space->extents[extent->next].previous = rest;
  }
  extent->next = rest;
  extent->units = units;
  return rest;
}

uint32_t oap_space_allocate(oap_space *space, uint32_t owner, uint64_t units, uint32_t most_pieces,
                            uint32_t extents[OAP_MAX_PIECES]) {
  if (units > space->free_units || space->spare <= space->kept) {
    return 0;
  }
  /* Whole extents, largest first, until the remainder fits into one: the fewest pieces there can
   * be, and at most one extent is cut. */
  uint64_t left = units;
  uint32_t count = 0;
  for (;;) {
    uint32_t e = best_fit(space, left);
    bool last = e != 0;
    if (!last && count + 1 < most_pieces) {
      e = largest(space);
    }
    if (e == 0) {
      while (count > 0) {
        bin_insert(space, extents[--count]);
      }
      return 0;
    }
    bin_remove(space, e);
    extents[count++] = e;
    if (last) {
      break;
    }
    left -= space->extents[e].units;
  }
  if (space->extents[extents[count - 1]].units > left) {
    bin_insert(space, cut(space, extents[count - 1], (uint32_t)left));
  }
  for (uint32_t i = 0; i < count; i++) {
    space->extents[extents[i]].owner = owner;
  }
  return count;
}

uint32_t oap_space_take(oap_space *space, uint32_t *free, uint32_t owner, uint64_t position,
                        uint64_t bytes) {
  uint32_t e = *free;
  uint32_t before = (uint32_t)((position - space->extents[e].position) / OAP_ALIGNMENT);
  uint32_t units = (uint32_t)(bytes / OAP_ALIGNMENT);
  bool has_rest = before + units < space->extents[e].units;
  if (space->spare < space->kept + (before > 0) + has_rest) {
    return 0;
  }
  bin_remove(space, e);
  if (before > 0) {
    uint32_t rest = cut(space, e, before);
    bin_insert(space, e);
    e = rest;
  }
  *free = 0;
  if (has_rest) {
    *free = cut(space, e, units);
    bin_insert(space, *free);
  }
  space->extents[e].owner = owner;
  return e;
}

/* Joins an extent with the one after it, both in no bin. */
static void join(oap_space *space, uint32_t e, uint32_t after) {
  oap_extent *extent = &space->extents[e];
  extent->units += space->extents[after].units;
  extent->next = space->extents[after].next;
  if (extent->next != 0) {
    space->extents[extent->next].previous = e;
  }
  forget(space, after);
}

static void leave_bin(oap_space *space, uint32_t e) {
  if (space->extents[e].owner == 0) {
    bin_remove(space, e);
  } else {
    space->away_units -= space->extents[e].units;
  }
}

/* Makes an extent that is in no bin free (0) or away, and joins it with neighbours of that kind;
 * returns the whole. */
static uint32_t coalesce(oap_space *space, uint32_t e, uint32_t owner) {
  space->extents[e].owner = owner;
  uint32_t next = space->extents[e].next;
  if (next != 0 && space->extents[next].owner == owner) {
    leave_bin(space, next);
    join(space, e, next);
  }
  uint32_t previous = space->extents[e].previous;
  if (previous != 0 && space->extents[previous].owner == owner) {
    leave_bin(space, previous);
    join(space, previous, e);
    e = previous;
  }
  if (owner == 0) {
    bin_insert(space, e);
  } else {
    space->away_units += space->extents[e].units;
  }
  return e;
}

uint32_t oap_space_free(oap_space *space, uint32_t e, uint64_t limit, uint32_t *away) {
  const oap_extent *extent = &space->extents[e];
  *away = 0;
  if (extent->position >= limit) {
    *away = coalesce(space, e, OAP_AWAY);
    return 0;
  }
  if (oap_extent_end(extent) > limit) {
    uint32_t rest = cut(space, e, (uint32_t)((limit - extent->position) / OAP_ALIGNMENT));
    space->extents[e].owner = 0; /* so that the rest does not join it again */
    *away = coalesce(space, rest, OAP_AWAY);
  }
  return coalesce(space, e, 0);
}

void oap_space_limit(oap_space *space, uint32_t region, uint64_t limit) {
  for (uint32_t e = region; e != 0; e = space->extents[e].next) {
    const oap_extent *extent = &space->extents[e];
    bool changes = (extent->owner == 0 && oap_extent_end(extent) > limit) ||
                   (extent->owner == OAP_AWAY && extent->position < limit);
    if (changes) {
      leave_bin(space, e);
      uint32_t away;
      uint32_t free = oap_space_free(space, e, limit, &away);
      e = away != 0 ? away : free; /* whichever comes last */
    }
  }
}
