/* Chunks that another pool hands over, against a model: what leaves for one is what is asked for
 * least, and only if it is asked for less often by more than one ask; what is refused takes
 * nobody's place. Hot chunks get into a pool of cold ones, whatever order they lie in, and not into
 * one of hotter ones. */
#include "check.h"

#include <errno.h>

enum {
  CHUNK = 16 << 10, /* less, and too many would share the sketch's counters */
  POOL_CHUNKS = 32,
  KEYS = 3 * POOL_CHUNKS,
  LEAD = 1,
  MOST_ASKS = 15,
  /* The sketch halves its counts after thirty asks a chunk; a run ends before. */
  MOST_COUNTED = 30 * POOL_CHUNKS
};

static oap_key key_of(uint32_t k) { return key_numbered(k / 8, k % 8, 0); }

static void use(oap_pool *pool, uint32_t k, unsigned times) {
  oap_key key = key_of(k);
  for (; times > 0; times--) {
    oap_chunk chunk;
    CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
    CHECK(oap_pool_unpin(pool, &chunk) == 0);
  }
}

/* Publishes what was reserved, and lets go of it. */
static void load(oap_pool *pool, uint32_t k, const oap_chunk *chunk) {
  oap_key key = key_of(k);
  chunk_fill(&key, chunk);
  CHECK(oap_pool_publish(pool, chunk) == 0);
  CHECK(oap_pool_unpin(pool, chunk) == 0);
}

static int hand(oap_pool *pool, uint32_t k, uint64_t bytes, unsigned asks) {
  oap_key key = key_of(k);
  oap_chunk chunk;
  int result = oap_pool_reserve_handed(pool, &key, bytes, asks, &chunk);
  if (result == 0) {
    load(pool, k, &chunk);
  }
  return result;
}

static oap_pool *open_with(const char *policy, uint32_t chunks) {
  oap_options options = check_options((uint64_t)chunks * CHUNK);
  options.policy = policy;
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  return pool;
}

/* What a pool holds: how often each key was asked for, less those that were never there. */
typedef struct state {
  bool is_held[KEYS];
  uint64_t asks[KEYS];
  uint64_t count;
  uint64_t least;
} state;

static state state_of(oap_pool *pool) {
  state s = {.least = UINT64_MAX};
  oap_held list[KEYS];
  uint64_t version;
  s.count = oap_pool_snapshot(pool, list, KEYS, &version);
  for (uint64_t i = 0; i < s.count; i++) {
    uint32_t k = 0;
    for (oap_key key = key_of(k); memcmp(&key, &list[i].key, sizeof(key)) != 0; key = key_of(k)) {
      CHECK(++k < KEYS);
    }
    s.is_held[k] = true;
    s.asks[k] = list[i].asks;
    s.least = list[i].asks < s.least ? list[i].asks : s.least;
  }
  return s;
}

static uint64_t evictions_of(oap_pool *pool) {
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  return stats.evictions;
}

/* Hands a chunk over that takes the place of one other; what comes of it is what the model says. */
static void hand_and_compare(oap_pool *pool, uint32_t k, unsigned asks) {
  state before = state_of(pool);
  int result = hand(pool, k, CHUNK, asks);
  state after = state_of(pool);
  CHECK((result == -EEXIST) == before.is_held[k]);
  uint64_t left = 0;
  for (uint32_t i = 0; i < KEYS; i++) {
    if (before.is_held[i] && !after.is_held[i]) {
      CHECK(before.asks[i] == before.least);
      left++;
    }
  }
  if (result == 0) {
    /* A key that was here before may be known better than the other pool knows it. */
    uint64_t credited = asks < 1 ? 1 : asks < MOST_ASKS ? asks : MOST_ASKS;
    CHECK(after.asks[k] >= credited);
    CHECK(left == (before.count == POOL_CHUNKS));
    CHECK(left == 0 || before.least + LEAD < after.asks[k]);
  } else if (result == -ENOSPC) {
    CHECK(left == 0 && before.count == POOL_CHUNKS);
    CHECK(before.least + LEAD >= asks);
  }
}

static void run(uint64_t random, unsigned hottest) {
  oap_pool *pool = open_with("s3fifo", POOL_CHUNKS);
  for (uint64_t counted = 0; counted < MOST_COUNTED;) {
    uint32_t k = (uint32_t)random_below(&random, KEYS);
    oap_key key = key_of(k);
    bool is_held = oap_pool_is_held(pool, &key);
    unsigned asks = (unsigned)random_below(&random, hottest);
    counted += 1 + asks;
    switch (random_below(&random, 3)) {
    case 0:
      hand_and_compare(pool, k, asks);
      break;
    case 1:
      use(pool, k, is_held ? asks % 4 : 0);
      break;
    default:
      CHECK(chunk_put(pool, &key, CHUNK) == (is_held ? -EEXIST : 0));
    }
  }
  pool_close(pool);
}

/* A full pool, each chunk handed over with so many asks: every other one with the first number. */
static oap_pool *open_full(uint32_t chunks, unsigned asks, unsigned others) {
  oap_pool *pool = open_with(NULL, chunks);
  for (uint32_t k = 0; k < chunks; k++) {
    CHECK(hand(pool, k, CHUNK, k % 2 == 0 ? asks : others) == 0);
  }
  return pool;
}

static void worth_decides(void) {
  oap_pool *pool = open_full(POOL_CHUNKS, 8, 2);
  /* Not more often by more than one ask: nothing leaves. */
  for (uint32_t k = POOL_CHUNKS; k < 2 * POOL_CHUNKS; k++) {
    CHECK(hand(pool, k, CHUNK, 3) == -ENOSPC);
  }
  CHECK(evictions_of(pool) == 0);
  /* The cold half leaves, though a hot chunk is next in turn; then there are hotter ones only. */
  for (uint32_t k = POOL_CHUNKS; k < 2 * POOL_CHUNKS; k++) {
    CHECK(hand(pool, k, CHUNK, 9) == (k < POOL_CHUNKS + POOL_CHUNKS / 2 ? 0 : -ENOSPC));
  }
  for (uint32_t k = 0; k < POOL_CHUNKS; k++) {
    oap_key key = key_of(k);
    CHECK(oap_pool_is_held(pool, &key) == (k % 2 == 0));
  }
  /* What was refused is worth no more by being offered again and again. */
  for (int i = 0; i < 20; i++) {
    CHECK(hand(pool, 2 * POOL_CHUNKS - 1, CHUNK, 9) == -ENOSPC);
  }
  CHECK(evictions_of(pool) == POOL_CHUNKS / 2);
  pool_close(pool);
}

/* Cold chunks are found among many hot ones, though a search looks at a few. */
static void most_of_many_are_found(void) {
  enum { MANY = 512, COLD = MANY / 2 };
  oap_pool *pool = open_full(MANY, 8, 2);
  uint32_t taken = 0;
  for (uint32_t k = MANY; k < MANY + COLD; k++) {
    taken += hand(pool, k, CHUNK, 9) == 0;
  }
  CHECK(taken > COLD / 5 * 4);
  pool_close(pool);
}

/* What is most often asked for stays, however often another pool says it has counted. */
static void credit_is_bounded(void) {
  oap_pool *pool = open_full(POOL_CHUNKS, MOST_ASKS, MOST_ASKS);
  for (uint32_t k = POOL_CHUNKS; k < KEYS; k++) {
    CHECK(hand(pool, k, CHUNK, UINT32_MAX) == -ENOSPC);
  }
  CHECK(evictions_of(pool) == 0);
  pool_close(pool);
}

/* Pinned chunks stay, and the search for room between them comes to an end. */
static void pins_hold(void) {
  oap_pool *pool = open_full(POOL_CHUNKS, 1, 1);
  oap_chunk pinned[POOL_CHUNKS];
  for (uint32_t k = 0; k < POOL_CHUNKS; k += 2) {
    oap_key key = key_of(k);
    CHECK(oap_pool_pin(pool, &key, &pinned[k]) == 0);
  }
  CHECK(hand(pool, POOL_CHUNKS, 8 * CHUNK, MOST_ASKS) == -ENOSPC);
  CHECK(hand(pool, POOL_CHUNKS, 2 * CHUNK, MOST_ASKS) == 0);
  for (uint32_t k = 0; k < POOL_CHUNKS; k += 2) {
    oap_key key = key_of(k);
    CHECK(chunk_is_right(&key, &pinned[k]) && oap_pool_is_held(pool, &key));
    CHECK(oap_pool_unpin(pool, &pinned[k]) == 0);
  }
  pool_close(pool);
}

/* Policies that count no asks give free room only. */
static void others_take_free_room(const char *policy) {
  oap_pool *pool = open_with(policy, POOL_CHUNKS);
  for (uint32_t k = 0; k < POOL_CHUNKS; k++) {
    CHECK(hand(pool, k, CHUNK, 1) == 0);
  }
  CHECK(hand(pool, POOL_CHUNKS, CHUNK, MOST_ASKS) == -ENOSPC);
  CHECK(hand(pool, 0, CHUNK, MOST_ASKS) == -EEXIST);
  CHECK(evictions_of(pool) == 0);
  CHECK(hand(pool, POOL_CHUNKS, 0, MOST_ASKS) == -EINVAL);
  pool_close(pool);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  worth_decides();
  most_of_many_are_found();
  credit_is_bounded();
  pins_hold();
  others_take_free_room("lru");
  others_take_free_room("generations");
  uint64_t first = check_seed;
  uint64_t runs = check_runs(200);
  for (uint64_t i = 0; i < runs; i++) {
    check_seed = first + i;
    run(check_seed, i % 2 == 0 ? 4 : MOST_ASKS + 5);
  }
  return 0;
}
