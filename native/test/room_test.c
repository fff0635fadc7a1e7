/* Room beside chunks that are pinned: a search for it is short, takes no more than it needs, and
 * sees what is pinned meanwhile. Counted, not timed. */
#include "check.h"
#include "policy/policy.h"
#include "under_lock.h"

#include <errno.h>

#define CHUNK UINT64_C(4096) /* with it, slots and space run out together */

/* Whatever walks all CHUNKS goes beyond. */
enum { CHUNKS = 16384, MOST_LOOKS = 1024, LOOKS_PER_VICTIM = 16 };

/* ---- Room beside pinned chunks ---- */

bool __real_oap_is_evictable(const oap_holders *holders, const oap_slot *slots, uint32_t slot);
bool __wrap_oap_is_evictable(const oap_holders *holders, const oap_slot *slots, uint32_t slot);

bool __wrap_oap_is_evictable(const oap_holders *holders, const oap_slot *slots, uint32_t slot) {
  under_lock_count(LOOKS);
  return __real_oap_is_evictable(holders, slots, slot);
}

static oap_chunk pinned[CHUNKS];

static uint64_t evictions_of(oap_pool *pool) {
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  return stats.evictions;
}

/* Without its bytes, of which nothing is learned here. */
static int put(oap_pool *pool, uint64_t number, uint64_t bytes) {
  oap_key key = key_numbered(number, 0, 0);
  oap_chunk chunk;
  int result = oap_pool_reserve(pool, &key, bytes, &chunk);
  if (result == 0) {
    CHECK(oap_pool_publish(pool, &chunk) == 0 && oap_pool_unpin(pool, &chunk) == 0);
  }
  return result;
}

static void pin(oap_pool *pool, uint32_t number) {
  oap_key key = key_numbered(number, 0, 0);
  CHECK(oap_pool_pin(pool, &key, &pinned[number]) == 0);
}

/* Chunks in a row fill the pool, and every other one is pinned. */
static oap_pool *open_half_pinned(void) {
  oap_pool *pool = pool_open(CHUNKS * CHUNK, 1);
  for (uint32_t i = 0; i < CHUNKS; i++) {
    CHECK(put(pool, i, CHUNK) == 0);
  }
  for (uint32_t i = 1; i < CHUNKS; i += 2) {
    pin(pool, i);
  }
  under_lock_reset();
  return pool;
}

static void unpin_from(oap_pool *pool, uint32_t first) {
  for (uint32_t i = first | 1; i < CHUNKS; i += 2) {
    if (pinned[i].bytes > 0) {
      CHECK(oap_pool_unpin(pool, &pinned[i]) == 0);
      pinned[i].bytes = 0;
    }
  }
}

/* Four pieces take four chunks' places and no more, however long one searches. */
static void searches_are_short(void) {
  oap_pool *pool = open_half_pinned();
  for (uint32_t i = 0; i < 200; i++) {
    CHECK(put(pool, CHUNKS + i, OAP_MAX_PIECES * CHUNK + 1) == -ENOSPC);
  }
  CHECK(evictions_of(pool) == 0);
  CHECK(under_lock_most(LOOKS) <= MOST_LOOKS);
  CHECK(put(pool, CHUNKS, OAP_MAX_PIECES * CHUNK) == 0);
  CHECK(under_lock_most(LOOKS) <= MOST_LOOKS + LOOKS_PER_VICTIM * evictions_of(pool));
  unpin_from(pool, 0);
  pool_close(pool);
}

/* Room at the far end is found, since each search goes on where the last one ended; and what leaves
 * for a chunk is not much more than the chunk. */
static void searches_go_on(void) {
  enum { PLACES = 16 };
  oap_pool *pool = open_half_pinned();
  unpin_from(pool, CHUNKS - 16 * PLACES);
  uint32_t tries = 1;
  for (; put(pool, CHUNKS, PLACES * CHUNK) != 0; tries++) {
    CHECK(tries < CHUNKS / PLACES);
  }
  CHECK(tries > 1 && under_lock_most(LOOKS) <= MOST_LOOKS + LOOKS_PER_VICTIM * evictions_of(pool));
  CHECK(evictions_of(pool) <= CHUNKS / 80 + 6 * PLACES);
  unpin_from(pool, 0);
  pool_close(pool);
}

/* A pool with a pinned half is turned over: what is pinned is out of the policy's way. */
static void victims_are_found(uint64_t seed) {
  enum { RESERVES = 50000 };
  oap_pool *pool = pool_open(CHUNKS * CHUNK, 1);
  uint64_t random = seed;
  uint64_t number = 0;
  while (evictions_of(pool) < CHUNKS) {
    CHECK(put(pool, number++, random_size(&random, CHUNK / 2, 4 * CHUNK)) == 0);
  }
  oap_chunk *held = calloc(number, sizeof(*held));
  uint64_t held_count = 0;
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < number && bytes < CHUNKS * CHUNK / 2; i++) {
    oap_key key = key_numbered(i, 0, 0);
    if (random_below(&random, 2) == 0 && oap_pool_pin(pool, &key, &held[held_count]) == 0) {
      bytes += held[held_count++].bytes;
    }
  }
  under_lock_reset();
  for (uint32_t i = 0; i < RESERVES; i++) {
    if (i == RESERVES / 2) {
      under_lock_reset();
    }
    CHECK(put(pool, number++, random_size(&random, CHUNK / 2, 4 * CHUNK)) == 0);
  }
  CHECK(under_lock_all(LOOKS) <= RESERVES / 2 * 4 * LOOKS_PER_VICTIM);
  while (held_count > 0) {
    CHECK(oap_pool_unpin(pool, &held[--held_count]) == 0);
  }
  free(held);
  /* What was out of the way comes back when nothing else is left. */
  CHECK(put(pool, number, CHUNKS * CHUNK) == 0);
  pool_close(pool);
}

/* ---- Others pin while room is made ---- */

uint32_t __real_oap_order_evict(oap_order *order, unsigned asks);
uint32_t __wrap_oap_order_evict(oap_order *order, unsigned asks);

static oap_pool *pin_in; /* every other chunk, once the first has been evicted */

uint32_t __wrap_oap_order_evict(oap_order *order, unsigned asks) {
  uint32_t victim = __real_oap_order_evict(order, asks);
  for (uint32_t i = 1; pin_in != NULL && i < CHUNKS; i += 2) {
    oap_key key = key_numbered(i, 0, 0);
    if (oap_pool_pin(pin_in, &key, &pinned[i]) != 0) {
      pinned[i].bytes = 0;
    }
  }
  pin_in = NULL;
  return victim;
}

static void later_pins_are_seen(void) {
  enum { WANTED = 256 };
  oap_pool *pool = open_half_pinned();
  unpin_from(pool, 0);
  pin_in = pool;
  CHECK(put(pool, CHUNKS, WANTED * CHUNK) == -ENOSPC);
  CHECK(pin_in == NULL);
  CHECK(evictions_of(pool) > 0 && evictions_of(pool) <= 2 * WANTED);
  unpin_from(pool, 0);
  CHECK(put(pool, CHUNKS, WANTED * CHUNK) == 0);
  pool_close(pool);
}

/* In a full pool with two holes: both become one chunk, and then there is no room. Nothing leaves.
 */
static void free_room_is_used(void) {
  uint64_t part = OAP_LEAST_CAPACITY / 10 / 64 * 64;
  oap_pool *pool = pool_open(OAP_LEAST_CAPACITY, 1);
  for (uint32_t i = 0; i < 10; i++) {
    CHECK(put(pool, i, part) == 0);
  }
  for (uint32_t i = 1; i <= 5; i += 4) {
    oap_key key = key_numbered(i, 0, 0);
    CHECK(oap_pool_drop(pool, &key) == 0);
  }
  oap_key key = key_numbered(10, 0, 0), other = key_numbered(11, 0, 0);
  oap_chunk chunk, none;
  CHECK(oap_pool_reserve_free(pool, &key, 2 * part - 100, &chunk) == 0);
  CHECK(chunk.pieces == 2);
  CHECK(oap_pool_reserve_free(pool, &key, part, &none) == -EINPROGRESS);
  CHECK(oap_pool_reserve_free(pool, &other, part, &none) == -ENOSPC);
  CHECK(oap_pool_reserve_free(pool, &other, OAP_LEAST_CAPACITY + 1, &none) == -EFBIG);
  CHECK(oap_pool_reserve_free(pool, &other, 0, &none) == -EINVAL);
  CHECK(oap_pool_abandon(pool, &chunk) == 0);
  CHECK(evictions_of(pool) == 0);
  pool_close(pool);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  searches_are_short();
  searches_go_on();
  victims_are_found(check_seed);
  later_pins_are_seen();
  free_room_is_used();
  return 0;
}
