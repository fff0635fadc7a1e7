/*
 * The file tier: a second store below a pool, on a disk (NVMe above all). It takes in copies of
 * chunks that are about to leave the pool and were asked for more than once, and gives them back
 * when they are asked for again, so that they need not be read from where they come from. What is
 * asked for once, as by a scan, is never written.
 *
 * The file is a log of segments. A full tier overwrites its oldest segment; what was read there
 * since it was written is written once more. The index is in memory. The file has no name: it goes
 * with the process, however that ends. It is read and written past the page cache where the file
 * system can, and never mapped, so that whatever is wrong with it comes as a return code: a miss.
 * Each chunk is checked by a hash of key, bytes and note as it is read. After many failures the
 * tier switches itself off, and its room on the disk is given back.
 *
 * Threads: every function except open and close may be called by any thread at any time; follow and
 * stop by one at a time. No lock is held while the file is read or written. Errors are those of
 * oap_pool.h.
 */
#ifndef OAP_TIER_H
#define OAP_TIER_H

#include "oap_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct oap_tier oap_tier;

typedef struct oap_tier_options {
  const char *path;  /* the directory of the file */
  uint64_t capacity; /* bytes; rounded down to whole segments, at least one */
  uint64_t segment;  /* bytes, a multiple of OAP_TIER_BLOCK; 0: OAP_TIER_SEGMENT */
} oap_tier_options;

#define OAP_TIER_BLOCK UINT64_C(4096)
#define OAP_TIER_SEGMENT (UINT64_C(64) << 20)

/* Figures since open. */
typedef struct oap_tier_stats {
  uint64_t capacity_bytes;
  uint64_t held_bytes; /* of chunks that can be read */
  uint64_t chunks;     /* how many those are */
  uint64_t hits;       /* chunks read */
  uint64_t bytes_read; /* of those */
  uint64_t bytes_written;
  uint64_t errors; /* reads and writes that failed, chunks that were not what was written */
  uint64_t evicted_segments;
  uint64_t is_off; /* 1: switched off after many errors; what was held is lost */
} oap_tier_stats;

/* Opens an empty tier, with room on the disk for all of it. EINVAL: capacity below one segment;
 * ENOTDIR: the path is no directory; ENOSPC: no room there; EFBIG: the process may not make such a
 * file; ENOMEM, EMFILE, ENOENT, EACCES, ... as the system gave them. */
int oap_tier_open(const oap_tier_options *options, oap_tier **out);

/* Starts a thread that copies down what is about to leave a pool, which is to outlive the tier or a
 * call of stop. Once. It pins a chunk for as long as copying it to memory takes. */
int oap_tier_follow(oap_tier *tier, oap_pool *pool);

/* Tells that a chunk has come into the pool from its source. The tier remembers about how often
 * that was so, and wakes as below. */
void oap_tier_came(oap_tier *tier, const oap_key *key);

/* Has the thread look which chunks are about to leave, since room was taken in the pool. */
void oap_tier_wake(oap_tier *tier);

/* Tells how long a chunk is, if the tier holds it. ENOENT: it does not; ESHUTDOWN: it is off. */
int oap_tier_find(oap_tier *tier, const oap_key *key, uint64_t *bytes);

/* Reads a chunk into a reservation of its length, and gets its note. ENOENT: not held, or not of
 * that length; EIO and others of the system: it could not be read or was damaged, and is held no
 * more. Then the reservation's bytes are undefined. ENOMEM; ESHUTDOWN. Waits for the disk. */
int oap_tier_read(oap_tier *tier, const oap_key *key, const oap_chunk *into, uint64_t *note);

/* Forgets a chunk, also one on its way down. ENOENT: there was none. */
int oap_tier_drop(oap_tier *tier, const oap_key *key);

/* Forgets every chunk of a file. */
void oap_tier_drop_file(oap_tier *tier, uint64_t file_high, uint64_t file_low);

/* Forgets every chunk. */
void oap_tier_clear(oap_tier *tier);

void oap_tier_stats_of(oap_tier *tier, oap_tier_stats *out);

/* Ends the thread and empties the tier for good, while others may still be in it: from then on it
 * answers ESHUTDOWN. Gives the room on the disk back. Waits for the write that the thread is in. */
void oap_tier_stop(oap_tier *tier);

/* Stops and closes it. No other thread may be in the tier or enter it. */
void oap_tier_close(oap_tier *tier);

/* Checks the inner structure, for tests. Returns NULL, or what is wrong (a static string). */
const char *oap_tier_validate(oap_tier *tier);

#ifdef __cplusplus
}
#endif

#endif
