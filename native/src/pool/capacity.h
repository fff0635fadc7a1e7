/* The capacity of a pool: how it changes, is touched in advance, and lies on the memory nodes. */
#ifndef OAP_CAPACITY_H
#define OAP_CAPACITY_H

#include "pool.h"

/* What of a capacity each shard uses in each arena. */
uint64_t oap_part_of(uint64_t capacity, uint32_t arenas, uint32_t shards);

/* Each shard has a stripe of every arena, of which it uses the first part. */
uint64_t oap_stripe_of(const oap_pool *pool, const oap_arena *arena);

/* Makes the first bytes of each stripe usable, up to part. 0 or -errno. */
int oap_pool_commit(oap_pool *pool, uint64_t part);

/* Lets the shards use so many bytes of each stripe, which have been committed. */
void oap_pool_use(oap_pool *pool, uint64_t part);

/* Joins those who share a pool of so many bytes of each stripe. 0 or -errno. */
int oap_pool_join(oap_pool *pool, uint64_t part);

/* Starts the thread that touches the memory in use, or ends it. 0 or -errno. */
int oap_prefault_start(oap_pool *pool);
void oap_prefault_stop(oap_pool *pool);

/* Takes and releases the lock; callers get it before the prefault thread gets it again. */
void oap_pool_lock(oap_pool *pool);
void oap_pool_unlock(oap_pool *pool);

#endif
