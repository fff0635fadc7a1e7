/* See members.h. */
#include "members.h"

#include "arena/poison.h"
#include "home/sweep.h"

#include <errno.h>

enum { LOOK_EVERY_MS = 1000 };

static bool sweep(oap_pool *pool, uint32_t member) {
  bool is_done = true;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    is_done = oap_shard_sweep(&pool->shards[i], member) && is_done;
  }
  return is_done;
}

static void *look(void *argument) {
  oap_pool *pool = argument;
  oap_periodic *thread = &pool->members;
  pthread_mutex_lock(&thread->lock);
  while (!thread->is_ending) {
    for (uint32_t m = 0; m < OAP_MOST_MEMBERS; m++) {
      if (oap_home_is_gone(&pool->home, m)) {
        oap_home_has_swept(&pool->home, m, sweep(pool, m));
      }
    }
    for (uint32_t i = 0; i < pool->shard_count; i++) {
      oap_shard_sweep_leftovers(&pool->shards[i]);
      oap_shard_tell_pins(&pool->shards[i]);
    }
    oap_periodic_pause(thread, LOOK_EVERY_MS);
  }
  pthread_mutex_unlock(&thread->lock);
  return NULL;
}

int oap_members_begin(oap_pool *pool) {
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    if (pool->arenas[i].moved_count > 0) { /* others would not know where to */
      return -EIO;
    }
    OAP_UNPOISON(pool->arenas[i].data, pool->arenas[i].bytes);
  }
  /* Whoever had this number before may be gone without having been swept. */
  pool->home.is_swept = sweep(pool, pool->home.self);
  int error = pool->home.is_swept ? oap_periodic_start(&pool->members, look, pool) : -EBUSY;
  if (error == 0) {
    oap_home_let_in(&pool->home);
  }
  return error;
}

void oap_members_stop(oap_pool *pool) { oap_periodic_destroy(&pool->members); }

uint32_t oap_pool_members(const oap_pool *pool) {
  uint32_t count = 0;
  for (uint32_t m = 0; pool->home.is_shared && m < OAP_MOST_MEMBERS; m++) {
    count += atomic_load(&pool->home.header->is_member[m]) != 0;
  }
  return count;
}
