/* A tier below a pool: a scan writes nothing, a loop that is larger than the pool comes to be read
 * from the tier, and threads that load, drop and clear find right bytes only. */
#include "tier_chunk.h"

#include <errno.h>
#include <pthread.h>

#define CHUNK (UINT64_C(32) << 10)
#define POOL_CHUNKS 128

/* Loads a chunk as a reader does; where it was: 0 in the pool, 1 in the tier, 2 nowhere. */
static int load(oap_pool *pool, oap_tier *tier, const oap_key *key) {
  oap_chunk chunk;
  if (oap_pool_pin(pool, key, &chunk) == 0) {
    CHECK(chunk_is_right(key, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
    return 0;
  }
  uint64_t bytes;
  uint64_t note = 0;
  bool is_below = oap_tier_find(tier, key, &bytes) == 0;
  CHECK(!is_below || bytes == CHUNK);
  if (oap_pool_reserve(pool, key, CHUNK, &chunk) != 0) {
    return 2; /* another thread loads it, or has */
  }
  is_below = is_below && oap_tier_read(tier, key, &chunk, &note) == 0;
  CHECK(!is_below || (note == key->column && chunk_is_right(key, &chunk)));
  if (!is_below) {
    chunk_fill(key, &chunk);
    oap_tier_came(tier, key);
  }
  CHECK(oap_pool_set_note(pool, &chunk, key->column) == 0);
  CHECK(oap_pool_publish(pool, &chunk) == 0 && oap_pool_unpin(pool, &chunk) == 0);
  return is_below ? 1 : 2;
}

typedef struct pair {
  oap_pool *pool;
  oap_tier *tier;
} pair;

/* A pool and a tier without a thread, which a test drives by oap_tier_copy_down. */
static pair open_pair(uint64_t segments) {
  pair p = {.pool = pool_open(POOL_CHUNKS * CHUNK, 1), .tier = tier_open(segments, ".")};
  p.tier->pool = p.pool;
  p.tier->leaving = calloc(16384, sizeof(oap_leaving));
  CHECK(p.tier->leaving != NULL);
  return p;
}

static void close_pair(pair p) {
  oap_tier_close(p.tier);
  pool_close(p.pool);
}

/* Loads so many chunks one after the other; how many were nowhere. */
static uint32_t scan(pair p, uint64_t file, uint32_t chunks) {
  uint32_t nowhere = 0;
  for (uint32_t i = 0; i < chunks; i++) {
    oap_key key = key_numbered(file, 0, i);
    nowhere += load(p.pool, p.tier, &key) == 2;
    oap_tier_copy_down(p.tier);
  }
  return nowhere;
}

static void scans_write_nothing(void) {
  pair p = open_pair(64);
  for (uint64_t file = 0; file < 5; file++) {
    CHECK(scan(p, file, 2 * POOL_CHUNKS) == 2 * POOL_CHUNKS);
  }
  oap_tier_stats stats = tier_stats(p.tier);
  CHECK(stats.bytes_written <= 5 * 2 * POOL_CHUNKS * CHUNK / 100 * 5);
  close_pair(p);
}

static void loops_come_from_the_tier(uint32_t pools) {
  uint32_t chunks = pools * POOL_CHUNKS;
  pair p = open_pair(2 * chunks * CHUNK / TIER_SEGMENT);
  CHECK(scan(p, 1, chunks) == chunks);
  for (int i = 0; i < 3; i++) {
    scan(p, 1, chunks); /* a large one is forgotten in part, once */
  }
  CHECK(scan(p, 1, chunks) <= chunks / 100);
  oap_tier_stats before = tier_stats(p.tier);
  CHECK(scan(p, 1, chunks) <= chunks / 100);
  oap_tier_stats after = tier_stats(p.tier);
  CHECK(after.bytes_written - before.bytes_written <= chunks * CHUNK / 20);
  CHECK(after.evicted_segments == 0 && after.errors == 0);
  CHECK_TIER(p.tier);
  close_pair(p);
}

/* What leaves the pool while it is used stays, and what is dropped is gone from both. */
static void used_once_more(void) {
  pair p = open_pair(64);
  oap_key used = key_numbered(1, 0, 0);
  CHECK(load(p.pool, p.tier, &used) == 2 && load(p.pool, p.tier, &used) == 0);
  for (uint64_t file = 2; oap_pool_is_held(p.pool, &used); file++) {
    CHECK(file < 1000);
    scan(p, file, 1); /* chunks asked for as often push it out in the end */
    scan(p, file, 1);
    scan(p, file, 1);
  }
  uint64_t bytes;
  CHECK(oap_tier_find(p.tier, &used, &bytes) == 0 && bytes == CHUNK);
  CHECK(load(p.pool, p.tier, &used) == 1);
  CHECK(oap_pool_drop(p.pool, &used) == 0 && oap_tier_drop(p.tier, &used) == 0);
  CHECK(load(p.pool, p.tier, &used) == 2);
  close_pair(p);
}

enum { THREADS = 4, KEYS = 6 * POOL_CHUNKS };

typedef struct worker {
  pair p;
  uint64_t random;
  uint64_t rounds;
} worker;

static void *work(void *argument) {
  worker *w = argument;
  for (uint64_t i = 0; i < w->rounds; i++) {
    uint32_t k = (uint32_t)random_below(&w->random, KEYS);
    oap_key key = key_numbered(k % 7, 0, k);
    uint64_t what = random_below(&w->random, 2000);
    if (what == 0) {
      oap_pool_clear(w->p.pool);
      oap_tier_clear(w->p.tier);
    } else if (what < 4) {
      oap_pool_drop_file(w->p.pool, key.file_high, key.file_low);
      oap_tier_drop_file(w->p.tier, key.file_high, key.file_low);
    } else if (what < 20) {
      oap_pool_drop(w->p.pool, &key);
      oap_tier_drop(w->p.tier, &key);
    } else {
      load(w->p.pool, w->p.tier, &key);
    }
  }
  return NULL;
}

/* The thread of the tier beside them; a tier of a few segments, so that they are overwritten. */
static void threads(void) {
  pair p = {.pool = pool_open(POOL_CHUNKS * CHUNK, 2), .tier = tier_open(120, ".")};
  CHECK(oap_tier_follow(p.tier, p.pool) == 0);
  worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) {
    workers[t] = (worker){.p = p, .random = check_seed + (uint64_t)t, .rounds = check_runs(4000)};
    CHECK(pthread_create(&threads[t], NULL, work, &workers[t]) == 0);
  }
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_join(threads[t], NULL) == 0);
  }
  oap_tier_stats stats = tier_stats(p.tier);
  CHECK(stats.hits > 0 && stats.errors == 0);
  printf("hits %llu, written %llu, segments %llu\n", (unsigned long long)stats.hits,
         (unsigned long long)stats.bytes_written, (unsigned long long)stats.evicted_segments);
  CHECK_TIER(p.tier);
  oap_tier_stop(p.tier);
  oap_key key = key_numbered(1, 0, 1);
  CHECK(load(p.pool, p.tier, &key) != 1);
  close_pair(p);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  if (!check_is_threadsan()) { /* no thread but this one */
    scans_write_nothing();
    used_once_more();
    loops_come_from_the_tier(5);
  }
  if (!check_is_threadsan() && !check_is_addresssan()) { /* a longer one of the same */
    loops_come_from_the_tier(40);
  }
  threads();
  return 0;
}
