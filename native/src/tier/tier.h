/*
 * The file tier from inside. Its layers, of which each may use those above it here:
 *
 *   tier_index tier_file    where chunks lie; the file
 *   tier.h                  the tier
 *   tier_trouble            failures, and when they are too many
 *   tier_write              the log: chunks on their way down, segments that are overwritten
 *   tier_follow             the thread that copies down what is about to leave a pool
 *   tier.c                  its life; what others ask it
 *
 * One thread at a time writes. A chunk on its way down is staged in memory, together with others,
 * and known to the index when all of them have been written. So a reader finds whole chunks only,
 * unless his segment is overwritten meanwhile, which the content hash tells him.
 */
#ifndef OAP_TIER_INSIDE_H
#define OAP_TIER_INSIDE_H

#include "base/background.h"
#include "oap_tier.h"
#include "policy/sketch.h"
#include "tier_file.h"
#include "tier_index.h"

#include <stdatomic.h>

/* A chunk on its way down. */
typedef struct oap_tier_staged {
  uint64_t key[4];
  uint64_t content;
  uint64_t note;
  uint32_t bytes;
  uint32_t block;  /* where it starts in the staging memory */
  bool is_dropped; /* meanwhile: it is not to be known */
} oap_tier_staged;

#define OAP_TIER_STAGED 512

typedef struct oap_tier_segment {
  uint32_t entries; /* ever made since it was overwritten */
  uint32_t blocks;  /* written so far; of interest to the writer only */
} oap_tier_segment;

struct oap_tier {
  oap_tier_file file;
  uint32_t segment_count;
  uint32_t segment_blocks;

  pthread_mutex_t lock; /* guards what follows; never held while the file is read or written */
  oap_tier_index index;
  oap_tier_segment *segments;
  oap_sketch asked; /* how often chunks came into the pool */
  oap_tier_stats counted;
  unsigned read_trouble;
  unsigned write_trouble;
  bool is_off; /* for good */
  uint32_t staged_count;
  oap_tier_staged staged[OAP_TIER_STAGED];

  /* Of the writer only. */
  uint32_t open; /* the segment that is written to */
  uint32_t staged_blocks;
  unsigned char *staging; /* a segment's worth */

  /* Of the thread that follows a pool. */
  oap_pool *pool;
  oap_periodic thread;
  oap_leaving *leaving;
  _Atomic uint64_t came; /* chunks, into the pool */
  atomic_bool is_waiting;
};

/* ---- tier_trouble.c ---- */

/* Under the lock: notes what came of a read or a write. Many failures, of few successes, switch the
 * tier off. */
void oap_tier_note_read(oap_tier *tier, bool has_failed);
void oap_tier_note_write(oap_tier *tier, bool has_failed);

/* Under the lock: forgets all chunks. */
void oap_tier_forget_all(oap_tier *tier);

/* ---- tier_write.c ---- */

/* Stages a pinned chunk, and writes what is staged when that is much. EEXIST: held already, or
 * staged; EFBIG: larger than a segment; ESHUTDOWN. Failures of the disk are counted only. */
int oap_tier_put(oap_tier *tier, const oap_key *key, const oap_chunk *chunk, uint64_t note);

/* Writes what is staged. */
void oap_tier_flush(oap_tier *tier);

/* ---- tier_follow.c ---- */

/* Copies down those of the chunks about to leave the pool that are worth it. */
void oap_tier_copy_down(oap_tier *tier);

#endif
