/* A scan of more than the pool holds, whose reader has more chunks in its hands than the policy
 * gives to newcomers, does not push out what is asked for again and again; with LRU it does. */
#include "check.h"

enum { CHUNK = 16 << 10, POOL_CHUNKS = 256, HOT = 48, IN_HAND = 40, SCANNED = 4 * POOL_CHUNKS };

static bool is_held(oap_pool *pool, uint32_t number) {
  oap_key key = key_numbered(1, number, 0);
  oap_chunk chunk;
  if (oap_pool_pin(pool, &key, &chunk) != 0) {
    return false;
  }
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  return true;
}

static void scan(oap_pool *pool, uint64_t file) {
  oap_chunk in_hand[IN_HAND];
  for (uint32_t i = 0; i < SCANNED + IN_HAND; i++) {
    oap_chunk *chunk = &in_hand[i % IN_HAND];
    if (i >= IN_HAND) {
      CHECK(oap_pool_unpin(pool, chunk) == 0);
    }
    if (i < SCANNED) {
      oap_key key = key_numbered(file, i, 0);
      CHECK(oap_pool_reserve(pool, &key, CHUNK, chunk) == 0);
      CHECK(oap_pool_publish(pool, chunk) == 0);
    }
  }
}

/* How many of the chunks in use are there after each of three scans, at least. */
static uint32_t survivors(const char *policy) {
  oap_options options = check_options((uint64_t)CHUNK * POOL_CHUNKS);
  options.policy = policy;
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  for (uint32_t i = 0; i < HOT; i++) {
    oap_key key = key_numbered(1, i, 0);
    CHECK(chunk_put(pool, &key, CHUNK) == 0);
  }
  uint32_t least = HOT;
  for (uint64_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < 3 * HOT; i++) {
      is_held(pool, i % HOT);
    }
    scan(pool, 2 + round);
    uint32_t held = 0;
    for (uint32_t i = 0; i < HOT; i++) {
      held += is_held(pool, i);
    }
    least = held < least ? held : least;
  }
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
  return least;
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  CHECK(survivors("s3fifo") >= HOT - 2);
  CHECK(survivors("lru") == 0);
  return 0;
}
