/* Dropping chunks: one, those of a file, all. Functions behave as their namesakes in oap_pool.h. */
#ifndef OAP_DROP_H
#define OAP_DROP_H

#include "shard/shard.h"

int oap_shard_drop(oap_shard *shard, const oap_hashed_key *key);
uint64_t oap_shard_drop_file(oap_shard *shard, uint64_t high, uint64_t low);

/* Adds how many there were, unless that is NULL. False: the lock of a shared shard was not to be
 * had, and some may be there still. */
bool oap_shard_clear(oap_shard *shard, uint64_t *dropped);

/* Counts all chunks as gone without a look at them. */
void oap_shard_forget(oap_shard *shard);

#endif
