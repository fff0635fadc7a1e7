/* Opens and closes pools: arenas, of which each shard has its part. */
#include "pool.h"

#include "base/clock.h"
#include "capacity.h"
#include "drop.h"
#include "home/home_shared.h"
#include "home/rebuild.h"
#include "members.h"
#include "shard/stripe.h"
#include "writeback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SHARDS 64

/* A shard of its own pays from this many bytes on: below, a chunk could be too large a part. */
#define BYTES_PER_SHARD (8 * OAP_WINDOW_BYTES)
#define MOST_SHARDS_CHOSEN 16

/* Far above any machine's memory, far below where sums of sizes could overflow. */
#define MOST_CAPACITY (UINT64_C(1) << 47)

static uint32_t choose_shards(uint64_t capacity) {
  uint32_t shards = 1;
  while (shards < MOST_SHARDS_CHOSEN && capacity / (shards * 2) >= BYTES_PER_SHARD) {
    shards *= 2;
  }
  return shards;
}

static int open_shards(oap_pool *pool, uint64_t part, const oap_policy *policy) {
  oap_home *home = &pool->home;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    oap_range stripes[OAP_MOST_ARENAS];
    for (uint32_t a = 0; a < pool->arena_count; a++) {
      uint64_t stripe = oap_stripe_of(pool, &pool->arenas[a]);
      stripes[a] = (oap_range){.position = pool->arenas[a].position + stripe * i, .bytes = stripe};
    }
    oap_shard_options options = {
        .number = i,
        .stripes = stripes,
        .stripe_count = pool->arena_count,
        .arenas = pool->arenas,
        .part = part,
        .most_slots = UINT32_MAX,
        .policy = policy,
        .windows = pool->windows,
        .hash_shift = pool->shard_shift,
    };
    if (home->is_shared) {
      options.members = &home->header->members;
      options.self = home->self;
      options.is_first = !home->is_joined;
      options.rebuild = oap_shard_rebuild_after;
    }
    if (home->header != NULL) {
      options.kept_file = home->meta;
      options.kept_offset = OAP_HOME_HEADER + i * home->header->shape.kept_bytes;
      options.kept_ready = &home->header->ready[i];
    }
    int error = oap_shard_open(&pool->shards[i], &options);
    if (error != 0) {
      return error;
    }
  }
  return 0;
}

/* With the options, if the pool could not be opened. */
static void free_pool(oap_pool *pool, const oap_options *failed) {
  oap_members_stop(pool);
  oap_writeback_stop(pool);
  oap_prefault_stop(pool);
  for (uint32_t i = 0; pool->shards != NULL && i < pool->shard_count; i++) {
    oap_shard_close(&pool->shards[i]);
  }
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    oap_arena_close(&pool->arenas[i]);
  }
  oap_home_close(&pool->home, failed);
  pthread_cond_destroy(&pool->changed);
  pthread_mutex_destroy(&pool->resizing);
  free(pool->shards);
  free(pool->windows);
  free(pool);
}

static int open_arenas(oap_pool *pool, const oap_options *options, uint64_t part, uint64_t stripe) {
  uint64_t each = stripe * pool->shard_count;
  uint64_t windows_each = oap_round_up(each, OAP_WINDOW_BYTES) / OAP_WINDOW_BYTES;
  pool->window_count = windows_each * pool->arena_count;
  pool->windows = calloc(pool->window_count, sizeof(*pool->windows));
  if (pool->windows == NULL) {
    return -ENOMEM;
  }
  uint64_t own_node = oap_own_node(); /* once: the thread may move to another */
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    oap_arena *arena = &pool->arenas[i];
    int named = -1;
    uint64_t missing = part * pool->shard_count;
    if (pool->home.header != NULL) {
      named = pool->home.data[i];
      pool->home.data[i] = -1;
      missing = pool->home.is_new ? missing : 0;
    }
    int error = oap_arena_open(arena, options, i, own_node, named, missing, each);
    if (error != 0) {
      return error;
    }
    arena->position = i * windows_each * OAP_WINDOW_BYTES;
    for (uint64_t w = 0; w < windows_each; w++) {
      pool->windows[i * windows_each + w] = arena->data + w * OAP_WINDOW_BYTES;
    }
  }
  return 0;
}

/* Finds or makes a home for a pool of that shape. */
static int open_home(oap_pool *pool, const oap_options *options, uint64_t part, uint64_t stripe,
                     const oap_policy *policy) {
  oap_range stripes[OAP_MOST_ARENAS];
  for (uint32_t a = 0; a < pool->arena_count; a++) {
    stripes[a] = (oap_range){.bytes = stripe};
  }
  const _Atomic uint32_t some = 0;
  oap_shard_options shard = {.stripes = stripes,
                             .stripe_count = pool->arena_count,
                             .part = part,
                             .most_slots = UINT32_MAX,
                             .members = options->shared ? &some : NULL};
  oap_kept_plan kept = oap_shard_kept_plan(&shard);
  oap_home_shape shape = {.stripe = stripe,
                          .kept_bytes = kept.bytes,
                          .sketch_at = kept.sketch_at,
                          .sketch_bytes = kept.sketch_bytes,
                          .shards = pool->shard_count,
                          .paths = pool->arena_count};
  strncpy(shape.policy, policy->name, sizeof(shape.policy) - 1);
  strncpy(shape.library, oap_pool_version(), sizeof(shape.library) - 1);
  if (options->shared) {
    oap_home_set_shared(&shape, part);
  }
  int error = oap_home_open(&pool->home, options, &shape);
  if (error == 0) { /* what has room already; nothing, in a new one */
    pool->part = pool->home.full;
    pool->ever = pool->home.full;
  }
  return error;
}

/* Makes use of what another process has left in the shards, whose capacity is set. */
static int rebuild(oap_pool *pool) {
  oap_origin *origin = &pool->home.origin;
  oap_rebuilt found = {.chunks = 0};
  int error = 0;
  for (uint32_t i = 0; error == 0 && i < pool->shard_count; i++) {
    error = oap_shard_rebuild(&pool->shards[i], &found);
  }
  for (uint32_t i = 0; error == 0 && i < pool->shard_count; i++) {
    /* It may have been larger. */
    oap_stripe_release_all(&pool->shards[i], oap_stripe_of(pool, &pool->arenas[0]));
  }
  origin->chunks = found.chunks;
  origin->bytes = found.bytes;
  origin->refused = found.refused;
  return error;
}

static int build(oap_pool *pool, const oap_options *options, uint64_t part, uint64_t stripe,
                 const oap_policy *policy) {
  pool->shards = aligned_alloc(64, pool->shard_count * sizeof(*pool->shards));
  if (pool->shards == NULL) {
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    pool->shards[i].table = NULL; /* not open yet */
  }
  int error = options->reopen ? open_home(pool, options, part, stripe, policy) : 0;
  if (error == 0) {
    error = open_arenas(pool, options, part, stripe);
  }
  if (error == 0) {
    error = oap_pool_commit(pool, part);
  }
  if (error == 0) {
    error = open_shards(pool, part, policy);
  }
  if (error == 0 && pool->home.is_joined) {
    return oap_pool_join(pool, part);
  }
  if (error == 0) {
    oap_pool_use(pool, part);
    error = pool->home.origin.is_reopened ? rebuild(pool) : 0;
  }
  return error;
}

/* A pool of so many bytes in each shard's stripe of each arena, with addresses for growth times as
 * many. */
static int open_parts(const oap_options *options, uint32_t arenas, uint32_t shards, uint64_t part,
                      uint64_t growth, const oap_policy *policy, oap_pool **out) {
  oap_pool *pool = calloc(1, sizeof(*pool));
  if (pool == NULL) {
    return -ENOMEM;
  }
  pool->resizing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool->arena_count = arenas;
  pool->shard_count = shards;
  pool->shard_shift = 63 - (unsigned)__builtin_ctz(shards);
  uint64_t stripe = oap_round_up(growth * part, OAP_HUGE_PAGE);
  int error = build(pool, options, part, stripe, policy);
  if (error == 0 && pool->home.is_shared) {
    error = oap_members_begin(pool);
  }
  if (error == 0) {
    error = oap_writeback_start(pool);
  }
  if (error == 0 && options->prefault) {
    error = oap_prefault_start(pool);
  }
  if (error != 0) {
    free_pool(pool, options);
    return error;
  }
  *out = pool;
  return 0;
}

/* Opens a pool, if need be without what others left; waits for a sharer that was stopped. */
static int make_room_and_open(const oap_options *options, uint32_t arenas, uint32_t shards,
                              uint64_t part, uint64_t growth, const oap_policy *policy,
                              oap_pool **out) {
  enum { MOST_WAIT_MS = 120000, PAUSE_US = 20000 };
  uint64_t end = oap_milliseconds() + MOST_WAIT_MS;
  int error;
  while ((error = open_parts(options, arenas, shards, part, growth, policy, out)) == -EBUSY &&
         options->shared) {
    if (oap_milliseconds() >= end) {
      return -ETIMEDOUT;
    }
    usleep(PAUSE_US);
  }
  bool is_in_directories = options->medium == OAP_FILE || options->medium == OAP_FSDAX;
  if (error == -ENOSPC && is_in_directories && oap_home_remove_unused(options) > 0) {
    error = open_parts(options, arenas, shards, part, growth, policy, out);
  }
  return error;
}

int oap_pool_open(const oap_options *options, oap_pool **out) {
  uint32_t arenas = oap_arena_count(options);
  uint32_t shards = options->shards != 0 ? options->shards : choose_shards(options->capacity);
  const oap_policy *policy = oap_policy_named(options->policy);
  if (policy == NULL || shards > MOST_SHARDS || (shards & (shards - 1)) != 0) {
    return -EINVAL;
  }
  if (options->shared && (!options->reopen || policy != oap_policy_named(NULL))) {
    return -EINVAL;
  }
  uint64_t part = oap_part_of(options->capacity, arenas, shards);
  if (part < OAP_LEAST_CAPACITY) {
    return -EINVAL;
  }
  if (options->capacity > MOST_CAPACITY) {
    return -ENOMEM;
  }
  uint64_t growth = options->shared ? 1 : OAP_MOST_GROWTH;
  int error = make_room_and_open(options, arenas, shards, part, growth, policy, out);
  if (error == -ENOMEM || error == -EFBIG) { /* limits of addresses or of file sizes */
    error = make_room_and_open(options, arenas, shards, part, 1, policy, out);
  }
  return error;
}

static bool is_busy(oap_pool *pool) {
  bool busy = atomic_load(&pool->writeback.has_lost_slots); /* nobody knows what is pinned */
  for (uint32_t i = 0; i < pool->shard_count && !busy; i++) {
    busy = oap_shard_is_busy(&pool->shards[i]);
  }
  return busy;
}

static int retire(oap_pool *pool) {
  if (is_busy(pool)) {
    return -EBUSY;
  }
  bool is_shared = pool->home.is_shared;
  bool is_stuck = false;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    is_stuck = !oap_shard_set_retired(&pool->shards[i], true) || is_stuck;
    if (is_shared) { /* it stays as it is for the others */
      continue;
    }
    if (pool->home.header != NULL) { /* else another pool would find it empty */
      oap_shard_leave_file(&pool->shards[i]);
    }
    oap_shard_clear(&pool->shards[i], NULL);
  }
  /*
   * What was pinned or reserved since the first look decides, and this look misses none of it. A
   * pin and the drop by oap_shard_clear change one word each by an atomic exchange, so one comes
   * first: either the drop has seen the pin and left it in the word, or the pin fails, because the
   * chunk is no longer published. No chunk can become so either: reserve, which looks at the flag
   * under the lock, refuses, and what was loading is doomed. So pins only end from here on.
   * In a shared pool a pin is counted first, and is not kept if the flag is set by then.
   */
  if (is_stuck || is_busy(pool)) {
    for (uint32_t i = 0; i < pool->shard_count; i++) {
      oap_shard_set_retired(&pool->shards[i], false);
    }
    return -EBUSY;
  }
  oap_members_stop(pool);
  for (uint32_t i = 0; is_shared && i < pool->shard_count; i++) {
    oap_shard_leave(&pool->shards[i]);
  }
  pool->retired = true;
  oap_writeback_stop(pool);
  int error = 0;
  for (uint32_t i = 0; i < pool->arena_count; i++) {
    int kept = oap_arena_empty(&pool->arenas[i]);
    error = error == 0 ? kept : error;
  }
  oap_home_let_go(&pool->home);
  return error;
}

int oap_pool_retire(oap_pool *pool) {
  oap_pool_lock(pool);
  bool was_retired = pool->retired;
  int error = was_retired ? 0 : retire(pool);
  oap_pool_unlock(pool);
  if (error != -EBUSY && !was_retired) {
    oap_prefault_stop(pool);
  }
  return error;
}

int oap_pool_close(oap_pool *pool) {
  if (is_busy(pool)) {
    return -EBUSY;
  }
  free_pool(pool, NULL);
  return 0;
}
