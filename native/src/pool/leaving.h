/* Which chunks of a shard would leave next. */
#ifndef OAP_LEAVING_H
#define OAP_LEAVING_H

#include "shard/shard.h"

/* Appends chunks that may be evicted from the ends of the queues, as oap_pool_leaving says of all
 * shards; returns the new count, which is never above room. */
uint64_t oap_shard_leaving(oap_shard *shard, oap_leaving *out, uint64_t room, uint64_t count);

#endif
