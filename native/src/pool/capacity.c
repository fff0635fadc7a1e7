/* The capacity of a pool: see capacity.h. */
#include "capacity.h"

#include "base/background.h"
#include "resize.h"
#include "shard/stripe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t oap_part_of(uint64_t capacity, uint32_t arenas, uint32_t shards) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return arenas == 0 ? 0 : capacity / arenas / shards / page * page;
}

uint64_t oap_stripe_of(const oap_pool *pool, const oap_arena *arena) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return arena->bytes / pool->shard_count / page * page;
}

#define MOST_SAMPLES 4096

typedef struct {
  void *address[MOST_SAMPLES];
  int node[MOST_SAMPLES]; /* -errno: nobody has touched the page, or the kernel does not say */
  uint64_t count;
  uint64_t each; /* bytes that one stands for */
} page_samples;

/* Pages in use, evenly spread over so many arenas from one on, and the nodes they lie on. 0 or
 * -errno. */
static int sample(const oap_pool *pool, uint32_t first, uint32_t arenas, page_samples *samples) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t stripe_pages = pool->part / page;
  uint64_t all = stripe_pages * arenas * pool->shard_count;
  uint64_t every = (all + MOST_SAMPLES - 1) / MOST_SAMPLES;
  samples->count = 0;
  samples->each = every * page;
  for (uint64_t i = every / 2; i < all && samples->count < MOST_SAMPLES; i += every) {
    uint64_t stripe = i / stripe_pages;
    const oap_arena *arena = &pool->arenas[first + stripe / pool->shard_count];
    samples->address[samples->count++] = arena->data +
                                         stripe % pool->shard_count * oap_stripe_of(pool, arena) +
                                         i % stripe_pages * page;
  }
  /* Without a list of target nodes it moves nothing, but says where the pages are. */
  long result = samples->count == 0 ? 0
                                    : syscall(SYS_move_pages, 0, samples->count, samples->address,
                                              NULL, samples->node, 0);
  return result < 0 ? -errno : 0;
}

/* Bytes of an arena on nodes that nobody has touched yet, so that the nodes do not count them as
 * used. None where the kernel does not tell, nor of explicit huge pages, which are there from the
 * start. */
static uint64_t untouched_bytes(const oap_pool *pool, uint32_t arena) {
  page_samples samples;
  if (pool->arenas[arena].medium != OAP_NODE || atomic_load(&pool->arenas[arena].has_huge_pages) ||
      sample(pool, arena, 1, &samples) != 0) {
    return 0;
  }
  uint64_t untouched = 0;
  for (uint64_t i = 0; i < samples.count; i++) {
    untouched += samples.node[i] < 0 ? samples.each : 0;
  }
  return untouched;
}

int oap_pool_commit(oap_pool *pool, uint64_t part) {
  int error = 0;
  if (part <= pool->part) {
    return 0;
  }
  /* What a reopened file has already, the system would not count. */
  bool is_estimated = !pool->home.origin.is_reopened;
  for (uint32_t a = 0; is_estimated && error == 0 && a < pool->arena_count; a++) {
    uint64_t more = (part - pool->part) * pool->shard_count;
    error = oap_arena_has_room(&pool->arenas[a], more + untouched_bytes(pool, a));
  }
  for (uint32_t a = 0; error == 0 && a < pool->arena_count; a++) {
    oap_arena *arena = &pool->arenas[a];
    for (uint32_t i = 0; error == 0 && i < pool->shard_count; i++) {
      error = oap_arena_commit(arena, i * oap_stripe_of(pool, arena), pool->part, pool->ever, part);
    }
  }
  return error;
}

/* Before memory goes back to the system, and after it has come. */
static void note_part(const oap_pool *pool, uint64_t part) {
  if (pool->home.header != NULL) {
    atomic_store(&pool->home.header->part, part);
  }
}

void oap_pool_use(oap_pool *pool, uint64_t part) {
  note_part(pool, part);
  pool->part = part;
  pool->ever = part > pool->ever ? part : pool->ever;
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    oap_shard_resize(&pool->shards[i], part);
  }
}

int oap_pool_join(oap_pool *pool, uint64_t part) {
  int error = 0;
  pool->part = part;
  pool->ever = part;
  for (uint32_t i = 0; error == 0 && i < pool->shard_count; i++) {
    error = oap_shard_join(&pool->shards[i], part);
  }
  return error;
}

void oap_pool_lock(oap_pool *pool) {
  atomic_fetch_add(&pool->resizers_ahead, 1);
  pthread_mutex_lock(&pool->resizing);
}

void oap_pool_unlock(oap_pool *pool) {
  atomic_fetch_sub(&pool->resizers_ahead, 1);
  pthread_cond_broadcast(&pool->changed);
  pthread_mutex_unlock(&pool->resizing);
}

static void set_resizing(oap_pool *pool, bool resizing) {
  for (uint32_t i = 0; i < pool->shard_count; i++) {
    oap_stripe_set_resizing(&pool->shards[i], resizing);
  }
}

int oap_pool_resize(oap_pool *pool, uint64_t capacity) {
  uint64_t part = oap_part_of(capacity, pool->arena_count, pool->shard_count);
  if (part < OAP_LEAST_CAPACITY) {
    return -EINVAL;
  }
  if (pool->home.is_shared) {
    return part == pool->part ? 0 : -EOPNOTSUPP;
  }
  oap_pool_lock(pool);
  bool is_over = pool->retired || atomic_load(&pool->writeback.has_lost_slots);
  int error = is_over ? -ESHUTDOWN : 0;
  for (uint32_t a = 0; error == 0 && a < pool->arena_count; a++) {
    error = part > oap_stripe_of(pool, &pool->arenas[a]) ? -EFBIG : 0;
  }
  uint64_t touched = part > pool->ever ? part : pool->ever;
  if (error == 0) {
    set_resizing(pool, true);
    error = part > pool->part ? oap_pool_commit(pool, part) : 0;
    if (error == 0) {
      oap_pool_use(pool, part);
    }
    set_resizing(pool, false);
    /* What the pool shrank by, or what it got of a growth that failed. */
    for (uint32_t i = 0; i < pool->shard_count; i++) {
      oap_stripe_release_all(&pool->shards[i], touched);
    }
  }
  oap_pool_unlock(pool);
  return error;
}

/* Touches all stripes side by side, a step of each at a time under the lock. Where the pool shrinks
 * meanwhile and grows again, it starts from where it shrank to. */
static void *prefault(void *argument) {
  enum { STEP = 4 << 20 };
  oap_pool *pool = argument;
  oap_background_stand_back();
  uint64_t done = 0; /* of each stripe */
  uint32_t stripe = 0;
  pthread_mutex_lock(&pool->resizing);
  while (!pool->is_closing) {
    done = done < pool->part ? done : pool->part;
    if (pool->retired || done == pool->part || atomic_load(&pool->resizers_ahead) > 0) {
      pthread_cond_wait(&pool->changed, &pool->resizing);
      continue;
    }
    uint64_t bytes = pool->part - done < STEP ? pool->part - done : STEP;
    const oap_arena *arena = &pool->arenas[stripe / pool->shard_count];
    uint64_t start = stripe % pool->shard_count * oap_stripe_of(pool, arena);
    oap_arena_touch(arena, start + done, bytes);
    if (++stripe == pool->arena_count * pool->shard_count) {
      stripe = 0;
      done += bytes;
    }
    pthread_mutex_unlock(&pool->resizing);
    pthread_mutex_lock(&pool->resizing);
  }
  pthread_mutex_unlock(&pool->resizing);
  return NULL;
}

int oap_prefault_start(oap_pool *pool) {
  int error = oap_background_start(&pool->prefault, prefault, pool);
  pool->is_prefaulting = error == 0;
  return error;
}

void oap_prefault_stop(oap_pool *pool) {
  if (pool->is_prefaulting) {
    oap_pool_lock(pool);
    pool->is_closing = true;
    oap_pool_unlock(pool);
    pthread_join(pool->prefault, NULL);
    pool->is_prefaulting = false;
  }
}

int oap_pool_nodes(oap_pool *pool, uint64_t bytes[OAP_MOST_NODES]) {
  page_samples samples = {.count = 0};
  memset(bytes, 0, OAP_MOST_NODES * sizeof(*bytes));
  oap_pool_lock(pool);
  int error = pool->retired ? 0 : sample(pool, 0, pool->arena_count, &samples);
  oap_pool_unlock(pool);
  for (uint64_t i = 0; error == 0 && i < samples.count; i++) {
    if (samples.node[i] >= 0 && samples.node[i] < OAP_MOST_NODES) {
      bytes[samples.node[i]] += samples.each;
    }
  }
  return error;
}
