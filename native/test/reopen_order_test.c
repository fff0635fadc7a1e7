/* What leaves a pool first that was taken over: what would have left it before. */
#include "home.h"

#define CAPACITY (UINT64_C(1) << 20)
#define BYTES UINT64_C(30000)

static oap_key key_of(uint32_t i) { return key_numbered(i / 4, i, 1); }

static void put(oap_pool *pool, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    oap_key key = key_of(i);
    CHECK(chunk_put(pool, &key, BYTES) == 0);
  }
}

/* Opens a pool, puts chunks into it and leaves it to the next one. */
static void leave(const oap_options *options, uint32_t chunks) {
  oap_pool *pool;
  home_open(options, &pool);
  put(pool, 0, chunks);
  pool_close(pool);
}

/* The order of the queue is kept: what came first leaves first. */
static void order_is_kept(void) {
  oap_options options = home_options(CAPACITY);
  options.policy = "lru";
  oap_pool *pool;
  home_clear();
  leave(&options, 30);
  home_open(&options, &pool);
  put(pool, 100, 120);
  for (uint32_t i = 0; i < 30; i++) {
    oap_key key = key_of(i);
    CHECK(oap_pool_is_held(pool, &key) == (i >= 16) || (i > 13 && i < 19));
  }
  pool_close(pool);
}

/* Generations: so is which one is the oldest, whatever its number. */
static void oldest_generation_is_kept(void) {
  oap_options options = home_options(CAPACITY);
  options.policy = "generations";
  for (uint32_t chunks = 40; chunks <= 200; chunks += 20) {
    oap_pool *pool;
    home_clear();
    leave(&options, chunks);
    leave(&options, 0); /* who has put nothing in leaves it as it was */
    CHECK(home_open(&options, &pool));
    put(pool, 1000, 1010);
    for (uint32_t i = chunks - 20; i < chunks; i++) {
      oap_key key = key_of(i);
      CHECK(oap_pool_is_held(pool, &key));
    }
    pool_close(pool);
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  order_is_kept();
  oldest_generation_is_kept();
  return 0;
}
