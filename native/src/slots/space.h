/*
 * Space: which bytes of a shard's part of the pool are free. Best fit over extents whose
 * descriptions lie in a table of their own, apart from the data.
 *
 * The shard's part is a row of regions, none of which crosses a window's end. Extents tile each
 * region without gaps. A region has a limit, which moves when the pool is resized. An extent above
 * it is away, or belongs to a chunk that was there before and becomes away when that chunk goes.
 * Neighbours that are both free or both away are always joined. Free extents stand in bins
 * by size, sixteen bins to a power of two, with a bitmap over the bins (the two-level segregated
 * fit of Masmano et al., 2004, here with a best-fit search in the bin and up to OAP_MAX_PIECES
 * pieces per request).
 *
 * Not thread-safe: the shard's lock guards it.
 */
#ifndef OAP_SPACE_H
#define OAP_SPACE_H

#include "oap_pool.h"

#include <stddef.h>
#include <string.h>

#define OAP_BINS_PER_DOUBLING 16
#define OAP_BINS 384 /* sizes up to a window in units of OAP_ALIGNMENT */

#define OAP_AWAY UINT32_MAX /* as owner: above the region's limit, for nobody to use */

typedef struct oap_extent {
  uint64_t position;
  uint32_t units;    /* of OAP_ALIGNMENT bytes */
  uint32_t previous; /* in address order within the region; 0 at its start */
  uint32_t next;     /* 0 at its end; also links the unused descriptions */
  uint32_t owner;    /* slot; 0: free; OAP_AWAY */
  uint32_t bin_previous;
  uint32_t bin_next;
} oap_extent;

static inline uint64_t oap_extent_end(const oap_extent *extent) {
  return extent->position + (uint64_t)extent->units * OAP_ALIGNMENT;
}

typedef struct oap_space {
  oap_extent *extents; /* table; 0 is not used */
  uint32_t limit;      /* number of descriptions in the table */
  uint32_t top;        /* descriptions ever used */
  uint32_t unused;     /* chain of descriptions to be used again */
  uint32_t spare;      /* descriptions that can still be given out */
  uint32_t kept;       /* of those, one for each region, for what its limit cuts */
  uint64_t free_units;
  uint64_t away_units;
  uint64_t all_units;
  uint64_t bitmap[OAP_BINS / 64];
  uint32_t bins[OAP_BINS];
} oap_space;

/* Copies all but where the table lies. */
static inline void oap_space_copy(oap_space *to, const oap_space *from) {
  const size_t start = offsetof(oap_space, limit);
  memcpy((char *)to + start, (const char *)from + start, sizeof(*to) - start);
}

/* The table has room for limit descriptions and is all zero. */
void oap_space_init(oap_space *space, oap_extent *table, uint32_t limit);

/* Adds a region that does not cross a window's end, all of it away; returns its first extent, which
 * stays so. */
uint32_t oap_space_add_region(oap_space *space, uint64_t position, uint64_t bytes);

/* Moves the limit of the region that starts with this extent to a position, a multiple of
 * OAP_ALIGNMENT: what is away below it becomes free, what is free above it is away. Extents that
 * belong to chunks stay as they are. */
void oap_space_limit(oap_space *space, uint32_t region, uint64_t limit);

/* Finds room for so many units in at most most_pieces pieces, takes it for the owner and writes the
 * extents; returns their number, or 0 and changes nothing. */
uint32_t oap_space_allocate(oap_space *space, uint32_t owner, uint64_t units, uint32_t most_pieces,
                            uint32_t extents[OAP_MAX_PIECES]);

/* Takes a place within a free extent for an owner. *free gets the free extent behind it, or 0.
 * Returns the extent; 0, and changes nothing, where no descriptions are left. */
uint32_t oap_space_take(oap_space *space, uint32_t *free, uint32_t owner, uint64_t position,
                        uint64_t bytes);

/* Frees an extent of a region with that limit and joins it with its neighbours. Returns the free
 * extent that the part below the limit now belongs to; 0: there is no such part. *away gets the
 * extent that the part above the limit now belongs to, or 0. Extents that were joined into others
 * have no units any more. */
uint32_t oap_space_free(oap_space *space, uint32_t extent, uint64_t limit, uint32_t *away);

/* Units in extents that belong to chunks. */
static inline uint64_t oap_space_used(const oap_space *space) {
  return space->all_units - space->free_units - space->away_units;
}

/* How many extents there are. */
static inline uint32_t oap_space_extents(const oap_space *space) {
  return space->limit - 1 - space->spare;
}

/* The bin in which extents of so many units stand while they are free. */
unsigned oap_space_bin_of(uint32_t units);

#endif
