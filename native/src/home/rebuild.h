/*
 * Rebuilding: a shard from its slots, when another process has left them in a file, or has died in
 * the middle of a change. The slots that are published and whose checksum is right are all that is
 * believed, and where others go on meanwhile, those that they have. Extents, chains and queues are
 * made anew. Chunks whose pieces overlap, as a failure of power may leave them, are dropped. What
 * was left in a file is unverified until its first pin.
 */
#ifndef OAP_REBUILD_H
#define OAP_REBUILD_H

#include "shard/shard.h"

typedef struct oap_rebuilt {
  uint64_t chunks;
  uint64_t bytes;
  uint64_t refused; /* slots that were in use, and are free now */
} oap_rebuilt;

/* Rebuilds a shard that has its capacity, and nothing in it but the slots. Adds to *out. No other
 * thread may be in the shard. 0 or -errno; then it is empty. */
int oap_shard_rebuild(oap_shard *shard, oap_rebuilt *out);

/* Under the lock of a shared shard, in which a member has died: makes everything anew but the
 * slots. What the others have pinned or are loading stays theirs, at its place; the dead member's
 * pins are gone. False: there is no memory for it, and the shard is not to be used. */
bool oap_shard_rebuild_after(oap_shard *shard, uint32_t dead);

#endif
