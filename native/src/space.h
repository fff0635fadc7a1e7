/*
 * Space: which bytes of a shard's part of the pool are free. Best fit over extents whose
 * descriptions lie in a table of their own, apart from the data.
 *
 * The shard's part is a row of regions, none of which crosses a window's end. Extents tile each
 * region without gaps; neighbours that are both free are always joined. Free extents hang in bins
 * by size, sixteen bins to a power of two, with a bitmap over the bins (the two-level segregated
 * fit of Masmano et al., 2004, here with a best-fit search in the bin and up to OAP_MAX_PIECES
 * pieces per request).
 *
 * Not thread-safe: the shard's lock guards it.
 */
#ifndef OAP_SPACE_H
#define OAP_SPACE_H

#include "oap_pool.h"

#define OAP_BINS_PER_DOUBLING 16
#define OAP_BINS 384 /* sizes up to a window in units of OAP_ALIGNMENT */

typedef struct oap_extent {
  uint64_t position;
  uint32_t units;    /* of OAP_ALIGNMENT bytes */
  uint32_t previous; /* in address order within the region; 0 at its start */
  uint32_t next;     /* 0 at its end; also links the unused descriptions */
  uint32_t owner;    /* slot, or 0: free */
  uint32_t bin_previous;
  uint32_t bin_next;
} oap_extent;

typedef struct oap_space {
  oap_extent *extents; /* table; 0 is not used */
  uint32_t limit;      /* number of descriptions in the table */
  uint32_t top;        /* descriptions ever used */
  uint32_t unused;     /* chain of descriptions to be used again */
  uint32_t spare;      /* descriptions that can still be given out */
  uint64_t free_units;
  uint64_t bitmap[OAP_BINS / 64];
  uint32_t bins[OAP_BINS];
} oap_space;

/* The table has room for limit descriptions and is all zero. */
void oap_space_init(oap_space *space, oap_extent *table, uint32_t limit);

/* Adds a free region that does not cross a window's end; returns its extent. */
uint32_t oap_space_add_region(oap_space *space, uint64_t position, uint64_t bytes);

/* Finds room for so many units in at most most_pieces pieces, takes it for the owner and writes the
 * extents; returns their number, or 0 and changes nothing. */
uint32_t oap_space_take(oap_space *space, uint32_t owner, uint64_t units, uint32_t most_pieces,
                        uint32_t extents[OAP_MAX_PIECES]);

/* Gives an extent back and joins it with free neighbours; returns the free extent it is now part
 * of. Extents that were joined into others have no units any more. */
uint32_t oap_space_give(oap_space *space, uint32_t extent);

/* NULL, or what is wrong with bins, bitmap or extents. */
const char *oap_space_validate(const oap_space *space);

#endif
