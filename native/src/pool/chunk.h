/*
 * How a chunk comes into its shard: reserve, publish, abandon. slot.h says which states there
 * are and who may change them. Functions behave as their namesakes in oap_pool.h, for keys that
 * belong to this shard.
 */
#ifndef OAP_CHUNK_H
#define OAP_CHUNK_H

#include "shard/shard.h"

int oap_shard_reserve(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes, bool may_evict,
                      oap_chunk *out);
int oap_shard_reserve_handed(oap_shard *shard, const oap_hashed_key *key, uint64_t bytes,
                             unsigned asks, oap_chunk *out);
int oap_shard_publish(oap_shard *shard, const oap_chunk *chunk);
int oap_shard_set_note(oap_shard *shard, const oap_chunk *chunk, uint64_t note);
int oap_shard_abandon(oap_shard *shard, const oap_chunk *chunk);

#endif
