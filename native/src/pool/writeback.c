/* The watch over pools in files on disks: see writeback.h. */
#include "writeback.h"

#include "drop.h"

/* How many arenas have lost writes. All are asked, since each tells once. */
static uint64_t lost_writes(const oap_pool *pool) {
  uint64_t lost = 0;
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    lost += oap_arena_has_lost_writes(&pool->arenas[i]);
  }
  return lost;
}

/* Whether all that was there has been dropped: a lock may not have been to be had. */
static bool clear_all(oap_pool *pool) {
  bool is_done = true;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    is_done = oap_shard_clear(&pool->shards[i], NULL) && is_done;
  }
  return is_done;
}

static void forget_all(oap_pool *pool) {
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    oap_shard_forget(&pool->shards[i]);
  }
}

/* Chunks that were reserved before the pool learnt of a failure may be published after it was
 * cleared. When their pages are lost too, that is another failure, so the thread goes on. */
static void *watch(void *argument) {
  oap_pool *pool = argument;
  oap_writeback *watched = &pool->writeback;
  bool is_unclear = false;
  pthread_mutex_lock(&watched->thread.lock); /* held while the files are asked */
  while (!watched->thread.is_ending) {
    uint64_t lost = lost_writes(pool);
    bool has_lost_slots = oap_home_has_lost_writes(&pool->home);
    atomic_fetch_add(&watched->lost, lost + has_lost_slots);
    if (has_lost_slots) {
      atomic_store(&watched->has_lost_slots, true);
      forget_all(pool);
    } else if ((lost > 0 || is_unclear) && !atomic_load(&watched->has_lost_slots)) {
      is_unclear = !clear_all(pool);
    }
    oap_periodic_pause(&watched->thread, watched->every_ms);
  }
  pthread_mutex_unlock(&watched->thread.lock);
  return NULL;
}

int oap_writeback_start(oap_pool *pool) {
  oap_writeback *watched = &pool->writeback;
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    unsigned ms = pool->arenas[i].ask_every_ms;
    watched->every_ms = watched->every_ms > ms ? watched->every_ms : ms;
  }
  return watched->every_ms == 0 ? 0 : oap_periodic_start(&watched->thread, watch, pool);
}

void oap_writeback_stop(oap_pool *pool) { oap_periodic_destroy(&pool->writeback.thread); }
