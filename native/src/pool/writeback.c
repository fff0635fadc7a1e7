/* The watch over pools in files on disks: see writeback.h. */
#include "writeback.h"

#include "base/background.h"
#include "chunk.h"

#include <time.h>

/* How many arenas have lost writes. All are asked, since each tells once. */
static uint64_t lost_writes(const oap_pool *pool) {
  uint64_t lost = 0;
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    lost += oap_arena_has_lost_writes(&pool->arenas[i]);
  }
  return lost;
}

static void wait_a_while(oap_writeback *watch) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += watch->every_ms * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&watch->ending, &watch->lock, &until);
}

/* Chunks that were reserved before the pool learnt of a failure may be published after it was
 * cleared. When their pages are lost too, that is another failure, so the thread goes on. */
static void *watch(void *argument) {
  oap_pool *pool = argument;
  oap_writeback *watch = &pool->writeback;
  pthread_mutex_lock(&watch->lock);
  while (!watch->is_ending) {
    uint64_t lost = lost_writes(pool);
    if (lost > 0) {
      atomic_fetch_add(&watch->lost, lost);
      for (uint32_t i = 0; i < pool->shard_count; i++) {
        oap_shard_clear(&pool->shards[i]);
      }
    }
    wait_a_while(watch);
  }
  pthread_mutex_unlock(&watch->lock);
  return NULL;
}

int oap_writeback_start(oap_pool *pool) {
  oap_writeback *watched = &pool->writeback;
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    unsigned ms = pool->arenas[i].ask_every_ms;
    watched->every_ms = watched->every_ms > ms ? watched->every_ms : ms;
  }
  if (watched->every_ms == 0) {
    return 0;
  }
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&watched->ending, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&watched->lock, NULL);
  int error = oap_background_start(&watched->thread, watch, pool);
  watched->is_running = error == 0;
  return error;
}

void oap_writeback_stop(oap_pool *pool) {
  oap_writeback *watched = &pool->writeback;
  if (watched->is_running) {
    pthread_mutex_lock(&watched->lock);
    watched->is_ending = true;
    pthread_cond_signal(&watched->ending);
    pthread_mutex_unlock(&watched->lock);
    pthread_join(watched->thread, NULL);
    watched->is_running = false;
    pthread_cond_destroy(&watched->ending);
    pthread_mutex_destroy(&watched->lock);
  }
}
