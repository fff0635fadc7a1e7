/* Many threads in one pool: whatever a pin gives is whole and right, nobody starves for want of
 * space that eviction could free, and in the end nothing is lost. For ThreadSanitizer above all. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define THREADS 6

/* Reads that last longer than it takes to retire, so that an overlooked pin reads what is no longer
 * there. One thread at them, because with more there is hardly a moment without a pin. */
#define LONG_READ (UINT64_C(1) << 13)
#define YIELD_ONE_IN 64
#define KEYS 64
#define CAPACITY (UINT64_C(1) << 20)

static oap_pool *pool;
static _Atomic uint64_t all_hits;
static _Atomic uint64_t all_refused; /* of those handed over, for want of room worth less */
static _Atomic bool retired;
static _Atomic int working;
static uint64_t operations;

static oap_key key_of(uint64_t k) { return key_numbered(k / 8, 0, (uint32_t)(k % 8)); }

static void load(const oap_key *key, uint64_t *random) {
  oap_chunk chunk;
  uint64_t bytes = random_size(random, 1, CAPACITY / 8);
  bool is_handed = random_below(random, 4) == 0;
  unsigned asks = (unsigned)random_below(random, 20);
  int result = is_handed ? oap_pool_reserve_handed(pool, key, bytes, asks, &chunk)
                         : oap_pool_reserve(pool, key, bytes, &chunk);
  if (result != 0) {
    CHECK(result == -EEXIST || result == -EINPROGRESS || (is_handed && result == -ENOSPC));
    atomic_fetch_add(&all_refused, result == -ENOSPC);
    return;
  }
  chunk_fill(key, &chunk);
  CHECK(oap_pool_set_note(pool, &chunk, bytes) == 0);
  if (random_below(random, 8) == 0) {
    CHECK(oap_pool_abandon(pool, &chunk) == 0);
    return;
  }
  CHECK(oap_pool_publish(pool, &chunk) == 0);
  CHECK(chunk_is_right(key, &chunk));
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
}

/* At most THREADS chunks of an eighth of the pool are held at any time, so there always is room. */
static void *work(void *seed) {
  uint64_t random = *(uint64_t *)seed;
  uint64_t hits = 0;
  for (uint64_t i = 0; i < operations; i++) {
    oap_key key = key_of(random_below(&random, KEYS));
    oap_chunk chunk;
    if (oap_pool_pin(pool, &key, &chunk) == 0) {
      uint64_t note;
      CHECK(chunk_is_right(&key, &chunk));
      CHECK(oap_pool_note(pool, &chunk, &note) == 0 && note == chunk.bytes);
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
      hits++;
    } else {
      load(&key, &random);
    }
    uint64_t choice = random_below(&random, 1000);
    if (choice < 20) {
      oap_pool_drop(pool, &key);
    } else if (choice < 22) {
      oap_pool_drop_file(pool, key.file_high, key.file_low);
    } else if (choice < 23) {
      oap_pool_clear(pool);
    } else if (choice < 30) {
      oap_stats stats;
      oap_pool_stats(pool, &stats);
      oap_pool_is_held(pool, &key);
    }
  }
  atomic_fetch_add(&all_hits, hits);
  atomic_fetch_sub(&working, 1);
  return NULL;
}

/* Grows and shrinks the pool, never below what run opened it with, while others are at work. */
static void resize_meanwhile(uint64_t least) {
  uint64_t random = check_seed;
  uint64_t capacity;
  do {
    capacity = least + random_below(&random, 1024) * 4096;
    CHECK(oap_pool_resize(pool, capacity) == 0);
    for (uint64_t pauses = random_below(&random, 100); pauses > 0; pauses--) {
      sched_yield();
    }
  } while (atomic_load(&working) > 0);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(capacity - stats.capacity_bytes < 4096 * 4);
  CHECK(stats.used_bytes <= stats.capacity_bytes);
}

static void run(const char *policy, unsigned shards) {
  oap_options options = check_options(CAPACITY * shards);
  options.policy = policy;
  options.shards = shards;
  options.prefault = shards > 1;
  CHECK(oap_pool_open(&options, &pool) == 0);
  pthread_t threads[THREADS];
  uint64_t seeds[THREADS];
  all_hits = 0;
  all_refused = 0;
  working = THREADS;
  for (uint64_t t = 0; t < THREADS; t++) {
    seeds[t] = check_seed + t * 1000;
    CHECK(pthread_create(&threads[t], NULL, work, &seeds[t]) == 0);
  }
  resize_meanwhile(options.capacity);
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_join(threads[t], NULL) == 0);
  }
  CHECK_VALID(pool);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.hits == all_hits && stats.hits > 0);
  CHECK(stats.pinned_chunks == 0 && stats.pinned_bytes == 0);
  CHECK(stats.refused_no_room == all_refused);
  CHECK(oap_pool_close(pool) == 0);
}

/* Until the pool is retired: what is pinned stays right all the while. Without a pin it stands back
 * now and then: where both threads have one processor, retiring would wait for one of the few
 * moments between two pins to be the end of a time slice. */
static void *work_until_retired(void *seed) {
  uint64_t random = *(uint64_t *)seed;
  for (;;) {
    oap_key key = key_of(random_below(&random, KEYS / 16));
    oap_chunk chunk;
    int result = 0;
    if (oap_pool_pin(pool, &key, &chunk) != 0) {
      result = oap_pool_reserve(pool, &key, LONG_READ, &chunk);
      if (result == 0) {
        chunk_fill(&key, &chunk);
        CHECK(oap_pool_publish(pool, &chunk) == 0);
      }
    }
    if (result == 0) {
      CHECK(chunk_is_right(&key, &chunk));
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
      atomic_fetch_add(&all_hits, 1);
      if (random_below(&random, YIELD_ONE_IN) == 0) {
        sched_yield();
      }
    } else if (atomic_load(&retired)) {
      return NULL;
    }
  }
}

/* The memory goes when the last pin has gone, and not before. */
static void run_retire(uint64_t seed) {
  oap_options options = check_options(CAPACITY);
  options.shards = 2;
  CHECK(oap_pool_open(&options, &pool) == 0);
  atomic_store(&retired, false);
  atomic_store(&all_hits, 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work_until_retired, &seed) == 0);
  while (atomic_load(&all_hits) < 100) {
    sched_yield(); /* the thread is at work, not about to start */
  }
  int result;
  while ((result = oap_pool_retire(pool)) != 0) {
    CHECK(result == -EBUSY);
    sched_yield();
  }
  atomic_store(&retired, true);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_VALID(pool);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.chunks == 0 && stats.pinned_chunks == 0);
  CHECK(oap_pool_close(pool) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  operations = check_runs(6000);
  for (uint64_t i = 0; i < operations / 30; i++) {
    run_retire(check_seed + i);
  }
  run("s3fifo", 1);
  run("s3fifo", 4);
  run("generations", 1);
  run("lru", 1);
  return 0;
}
