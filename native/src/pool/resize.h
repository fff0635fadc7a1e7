/*
 * How a shard grows and shrinks. Its tables and addresses are made for the most it can become; only
 * the limits of its stripes move. Chunks above a limit that sinks are not moved: they are evicted,
 * or dropped where they are in use.
 */
#ifndef OAP_RESIZE_H
#define OAP_RESIZE_H

#include "shard/shard.h"

/* From now on so many bytes of each stripe are in use; they have been committed. Chunks above are
 * evicted, or dropped, so that they go with their last pin. */
void oap_shard_resize(oap_shard *shard, uint64_t part);

/* Makes the caller one of the processes that are in a shared shard, which has so many bytes of each
 * stripe. 0, or -EBUSY: its lock is not to be had. */
int oap_shard_join(oap_shard *shard, uint64_t part);

#endif
