/*
 * The plan of a shard's tables: which there are, and where each lies in the one mapping of them
 * all.
 */
#ifndef OAP_SHARD_PLAN_H
#define OAP_SHARD_PLAN_H

#include "shard.h"

/* How many entries each table of a shard has, and where it starts in the one mapping of them all.
 */
typedef struct oap_table_plan {
  uint64_t slots, extents, heads, file_heads, words, regions;
  uint64_t extents_at, heads_at, files_at, words_at, ring_at, regions_at, stripes_at;
  uint64_t commons_at, pins_at, pins_stride; /* of a shared shard */
  uint64_t slots_end, words_end;             /* of what is kept in a file, in whole pages */
  uint64_t bytes;
} oap_table_plan;

oap_table_plan oap_plan_tables(const oap_shard_options *options);

/* Has a shard that is all zero use tables that are planned so, and lie there. */
void oap_place_tables(oap_shard *shard, char *table, const oap_table_plan *plan,
                      const oap_shard_options *options);

/* Adds the regions of all stripes to its space, which has none. */
void oap_add_regions(oap_shard *shard);

/* How many extents so many slots may need, and so many regions. */
uint64_t oap_extents_for(uint64_t slots, uint64_t regions);

#endif
