/*
 * Rebuilding: a shard from the slots that another process has left in a file. The slots that are
 * published and whose checksum is right are all that is believed; extents, chains and queues are
 * made anew. Chunks whose pieces overlap, as a failure of power may leave them, are dropped. What
 * stays is unverified until its first pin.
 */
#ifndef OAP_REBUILD_H
#define OAP_REBUILD_H

#include "shard.h"

typedef struct oap_rebuilt {
  uint64_t chunks;
  uint64_t bytes;
  uint64_t refused; /* slots that were in use, and are free now */
} oap_rebuilt;

/* Rebuilds a shard that has its capacity, and nothing in it but the slots; its number is that of
 * its keys' hashes, shifted so far. Adds to *out. No other thread may be in the shard. 0 or
 * -ENOMEM; then it is empty. */
int oap_shard_rebuild(oap_shard *shard, unsigned hash_shift, oap_rebuilt *out);

#endif
