/* The way from keys and chunks to their shards, and what is asked of all shards. */
#include "pool.h"

#include "chunk.h"
#include "drop.h"
#include "leaving.h"
#include "shard/pin.h"
#include "shard/shard_check.h"

#include <errno.h>

const char *oap_pool_version(void) { return OAP_VERSION; }

/* The shard of a key. */
static oap_shard *shard_of(const oap_pool *pool, const oap_hashed_key *key) {
  /* Two shifts: one by 64, for a single shard, would be undefined. */
  return &pool->shards[key->hash >> 1 >> pool->shard_shift];
}

/* The shard of a chunk; NULL: of no chunk that this pool has given out. */
static oap_shard *shard_of_chunk(const oap_pool *pool, const oap_chunk *chunk) {
  return chunk->shard < pool->shard_count ? &pool->shards[chunk->shard] : NULL;
}

bool oap_pool_has_lost_writes(oap_pool *pool) { return atomic_load(&pool->writeback.lost) != 0; }

/* Whether the slots are not to be looked at any more: see writeback.h. */
static bool has_lost_slots(const oap_pool *pool) {
  return atomic_load_explicit(&pool->writeback.has_lost_slots, memory_order_acquire);
}

/* How many shards there are to look into. */
static uint32_t shards_in_use(const oap_pool *pool) {
  return has_lost_slots(pool) ? 0 : pool->shard_count;
}

int oap_pool_reserve(oap_pool *pool, const oap_key *key, uint64_t bytes, oap_chunk *out) {
  oap_hashed_key k = oap_hashed(key);
  return oap_pool_has_lost_writes(pool)
             ? -ESHUTDOWN
             : oap_shard_reserve(shard_of(pool, &k), &k, bytes, true, out);
}

int oap_pool_reserve_free(oap_pool *pool, const oap_key *key, uint64_t bytes, oap_chunk *out) {
  oap_hashed_key k = oap_hashed(key);
  return oap_pool_has_lost_writes(pool)
             ? -ESHUTDOWN
             : oap_shard_reserve(shard_of(pool, &k), &k, bytes, false, out);
}

int oap_pool_reserve_handed(oap_pool *pool, const oap_key *key, uint64_t bytes, unsigned asks,
                            oap_chunk *out) {
  oap_hashed_key k = oap_hashed(key);
  return oap_pool_has_lost_writes(pool)
             ? -ESHUTDOWN
             : oap_shard_reserve_handed(shard_of(pool, &k), &k, bytes, asks, out);
}

int oap_pool_publish(oap_pool *pool, const oap_chunk *chunk) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL ? -EINVAL : has_lost_slots(pool) ? 0 : oap_shard_publish(shard, chunk);
}

int oap_pool_set_note(oap_pool *pool, const oap_chunk *chunk, uint64_t note) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL          ? -EINVAL
         : has_lost_slots(pool) ? 0
                                : oap_shard_set_note(shard, chunk, note);
}

int oap_pool_note(oap_pool *pool, const oap_chunk *chunk, uint64_t *note) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL ? -EINVAL : oap_shard_note(shard, chunk, note);
}

int oap_pool_is_readable(oap_pool *pool, const oap_chunk *chunk) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL ? -EINVAL : has_lost_slots(pool) ? 0 : oap_shard_is_readable(shard, chunk);
}

int oap_pool_abandon(oap_pool *pool, const oap_chunk *chunk) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL ? -EINVAL : has_lost_slots(pool) ? 0 : oap_shard_abandon(shard, chunk);
}

int oap_pool_pin(oap_pool *pool, const oap_key *key, oap_chunk *out) {
  oap_hashed_key k = oap_hashed(key);
  return has_lost_slots(pool) ? -ENOENT : oap_shard_pin(shard_of(pool, &k), &k, true, out);
}

int oap_pool_pin_unused(oap_pool *pool, const oap_key *key, oap_chunk *out) {
  oap_hashed_key k = oap_hashed(key);
  return has_lost_slots(pool) ? -ENOENT : oap_shard_pin(shard_of(pool, &k), &k, false, out);
}

int oap_pool_unpin(oap_pool *pool, const oap_chunk *chunk) {
  oap_shard *shard = shard_of_chunk(pool, chunk);
  return shard == NULL ? -EINVAL : has_lost_slots(pool) ? 0 : oap_shard_unpin(shard, chunk);
}

int oap_pool_await(oap_pool *pool, const oap_key *key, unsigned milliseconds) {
  oap_hashed_key k = oap_hashed(key);
  return has_lost_slots(pool) ? 0 : oap_shard_await(shard_of(pool, &k), &k, milliseconds);
}

bool oap_pool_is_held(oap_pool *pool, const oap_key *key) {
  oap_hashed_key k = oap_hashed(key);
  return !has_lost_slots(pool) && oap_shard_is_held(shard_of(pool, &k), &k);
}

int oap_pool_drop(oap_pool *pool, const oap_key *key) {
  oap_hashed_key k = oap_hashed(key);
  return has_lost_slots(pool) ? -ENOENT : oap_shard_drop(shard_of(pool, &k), &k);
}

uint64_t oap_pool_drop_file(oap_pool *pool, uint64_t file_high, uint64_t file_low) {
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < shards_in_use(pool); i++) {
    dropped += oap_shard_drop_file(&pool->shards[i], file_high, file_low);
  }
  return dropped;
}

uint64_t oap_pool_clear(oap_pool *pool) {
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < shards_in_use(pool); i++) {
    oap_shard_clear(&pool->shards[i], &dropped);
  }
  return dropped;
}

const oap_origin *oap_pool_origin(const oap_pool *pool) { return &pool->home.origin; }

void oap_pool_stats(oap_pool *pool, oap_stats *out) {
  *out = (oap_stats){.lost_writes = atomic_load(&pool->writeback.lost)};
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    oap_shard_stats(&pool->shards[i], out);
  }
}

uint64_t oap_pool_content_version(oap_pool *pool) {
  uint64_t version = 0;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    version += oap_shard_version(&pool->shards[i]);
  }
  return version;
}

uint64_t oap_pool_snapshot(oap_pool *pool, oap_held *out, uint64_t room, uint64_t *version) {
  *version = oap_pool_content_version(pool);
  uint64_t count = 0;
  for (uint32_t i = 0; i < shards_in_use(pool); i++) {
    if (!oap_shard_list(&pool->shards[i], out, room, &count)) {
      *version = OAP_NO_VERSION;
    }
  }
  return count;
}

uint64_t oap_pool_leaving(oap_pool *pool, oap_leaving *out, uint64_t room) {
  uint64_t count = 0;
  for (uint32_t i = 0; i < shards_in_use(pool); i++) {
    /* An equal part of what is left for each. */
    uint64_t most = count + (room - count) / (pool->shard_count - i);
    count = oap_shard_leaving(&pool->shards[i], out, most, count);
  }
  return count;
}

const char *oap_pool_validate(oap_pool *pool) {
  for (uint32_t i = 0; i < shards_in_use(pool); i++) {
    const char *fault = oap_shard_validate(&pool->shards[i]);
    if (fault != NULL) {
      return fault;
    }
  }
  return NULL;
}

bool oap_pool_window(const oap_pool *pool, uint64_t i, unsigned char **data, uint64_t *bytes) {
  if (i >= pool->window_count) {
    return false;
  }
  uint64_t each = pool->window_count / pool->arena_count;
  uint64_t before = i % each * OAP_WINDOW_BYTES;
  uint64_t all = pool->arenas[i / each].bytes; /* a device may have fewer than others */
  uint64_t left = all < before ? 0 : all - before;
  *data = pool->windows[i];
  *bytes = left < OAP_WINDOW_BYTES ? left : OAP_WINDOW_BYTES;
  return true;
}
