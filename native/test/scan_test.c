/* A scan of more than the pool holds, whose reader has more chunks in its hands than the policy
 * gives to newcomers, does not push out what is asked for again and again; with LRU it does. Nor
 * what was asked for in one representation and is held in another now. A loop over more than the
 * pool holds finds most of what could stay. */
#include "check.h"

enum {
  CHUNK = 16 << 10,
  LARGE = 4 * CHUNK,
  POOL_CHUNKS = 256,
  HOT = 48,
  IN_HAND = 40,
  SCANNED = 4 * POOL_CHUNKS
};

static bool use(oap_pool *pool, const oap_key *key) {
  oap_chunk chunk;
  if (oap_pool_pin(pool, key, &chunk) != 0) {
    return false;
  }
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  return true;
}

static bool use_hot(oap_pool *pool, uint32_t number) {
  oap_key key = key_numbered(1, number, 0);
  return use(pool, &key);
}

static void scan(oap_pool *pool, uint64_t file, uint64_t bytes) {
  oap_chunk in_hand[IN_HAND];
  for (uint32_t i = 0; i < SCANNED + IN_HAND; i++) {
    oap_chunk *chunk = &in_hand[i % IN_HAND];
    if (i >= IN_HAND) {
      CHECK(oap_pool_unpin(pool, chunk) == 0);
    }
    if (i < SCANNED) {
      oap_key key = key_numbered(file, i, 0);
      CHECK(oap_pool_reserve(pool, &key, bytes, chunk) == 0);
      CHECK(oap_pool_publish(pool, chunk) == 0);
    }
  }
}

/* How many of the chunks in use are there after each of three scans, at least; beside so many that
 * are pinned all the while. */
static uint32_t survivors(const char *policy, uint32_t pinned_count) {
  oap_options options = check_options((uint64_t)CHUNK * POOL_CHUNKS);
  options.policy = policy;
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  oap_chunk pinned[POOL_CHUNKS];
  for (uint32_t i = 0; i < HOT + pinned_count; i++) {
    oap_key key = key_numbered(i < HOT ? 1 : 9, i, 0);
    CHECK(chunk_put(pool, &key, CHUNK) == 0);
    CHECK(i < HOT || oap_pool_pin(pool, &key, &pinned[i - HOT]) == 0);
  }
  uint32_t least = HOT;
  for (uint64_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < 3 * HOT; i++) {
      use_hot(pool, i % HOT);
    }
    scan(pool, 2 + round, CHUNK);
    uint32_t held = 0;
    for (uint32_t i = 0; i < HOT; i++) {
      held += use_hot(pool, i);
    }
    least = held < least ? held : least;
  }
  while (pinned_count > 0) {
    CHECK(oap_pool_unpin(pool, &pinned[--pinned_count]) == 0);
  }
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
  return least;
}

/* How many chunks are there after a scan that were put into the full pool, used twice, and changed
 * their representation since. */
static uint32_t changed_survivors(void) {
  oap_options options = check_options((uint64_t)LARGE * POOL_CHUNKS);
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  scan(pool, 2, LARGE);
  for (uint32_t i = 0; i < HOT; i++) {
    oap_key key = key_numbered(1, i, 0);
    oap_key changed = key;
    changed.representation = 1;
    CHECK(chunk_put(pool, &key, LARGE) == 0);
    CHECK(use(pool, &key) && use(pool, &key));
    CHECK(chunk_put(pool, &changed, LARGE) == 0);
    CHECK(oap_pool_drop(pool, &key) == 0);
  }
  scan(pool, 3, LARGE);
  uint32_t held = 0;
  for (uint32_t i = 0; i < HOT; i++) {
    oap_key key = key_numbered(1, i, 0);
    CHECK(!oap_pool_is_held(pool, &key));
    key.representation = 1;
    held += oap_pool_is_held(pool, &key);
  }
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
  return held;
}

/* The percentage of asks that find their chunk, when as many chunks as two pools hold are asked for
 * in turn; after some rounds, so that all have been asked for as often as can be counted. */
static uint32_t loop_hits(const char *policy) {
  enum { LOOP = 2 * POOL_CHUNKS, ROUNDS = 40, COUNTED = 20 };
  oap_options options = check_options((uint64_t)CHUNK * POOL_CHUNKS);
  options.policy = policy;
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  uint32_t hits = 0;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    for (uint32_t i = 0; i < LOOP; i++) {
      oap_key key = key_numbered(1, i, 0);
      if (use(pool, &key)) {
        hits += round >= ROUNDS - COUNTED;
      } else {
        CHECK(chunk_put(pool, &key, CHUNK) == 0);
      }
    }
  }
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
  return 100 * hits / (COUNTED * LOOP);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  for (uint32_t pinned = 0; pinned <= POOL_CHUNKS / 2; pinned += POOL_CHUNKS / 8) {
    CHECK(survivors("s3fifo", pinned) >= HOT - 2);
    CHECK(survivors("lru", pinned) == 0);
  }
  CHECK(changed_survivors() >= HOT - 2);
  CHECK(loop_hits("s3fifo") >= 43);
  CHECK(loop_hits("lru") == 0);
  return 0;
}
