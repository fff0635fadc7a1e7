/* What cannot be is refused, with the right error and without harm: chunks of odd sizes, chunks
 * that cannot fit, calls with chunks that are not held, capacities that a pool cannot have. */
#include "check.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)

static uint64_t bytes_on_nodes(oap_pool *pool) {
  uint64_t bytes[OAP_MOST_NODES];
  CHECK(oap_pool_nodes(pool, bytes) == 0);
  uint64_t sum = 0;
  for (int n = 0; n < OAP_MOST_NODES; n++) {
    sum += bytes[n];
  }
  return sum;
}

/* The prefault thread brings all memory, what the pool grows by too; the chunks stay right. */
static void memory_in_advance(void) {
  oap_options options = {.capacity = 32 * CAPACITY, .shards = 2, .prefault = true};
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, CAPACITY) == 0);
  uint64_t none[OAP_MOST_NODES];
  bool can_tell = oap_pool_nodes(pool, none) == 0;
  uint64_t waited = 0;
  for (uint64_t capacity = options.capacity; capacity <= 4 * options.capacity; capacity *= 2) {
    CHECK(oap_pool_resize(pool, capacity) == 0);
    while (can_tell && bytes_on_nodes(pool) < capacity) {
      CHECK(++waited < 60000);
      usleep(1000); /* until the thread has come so far */
    }
  }
  CHECK(oap_pool_resize(pool, options.capacity) == 0);
  CHECK(!can_tell || bytes_on_nodes(pool) <= options.capacity);
  oap_chunk chunk;
  if (oap_pool_pin(pool, &key, &chunk) == 0) {
    CHECK(chunk_is_right(&key, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
  }
  CHECK(oap_pool_retire(pool) == 0);
  CHECK(!can_tell || bytes_on_nodes(pool) == 0);
  pool_close(pool);
  CHECK(oap_pool_open(&options, &pool) == 0);
  pool_close(pool); /* at once: the thread does not outlive it */
}

static uint64_t free_bytes(const char *path) {
  struct statvfs system;
  CHECK(statvfs(path, &system) == 0);
  return system.f_bfree * system.f_frsize;
}

static void odd_sizes(void) {
  oap_pool *pool = pool_open(CAPACITY, 0);
  const uint64_t odd[] = {
      1,       7, 63, 64, 65, 127, 4095, 4097, CAPACITY / 2 - 1, CAPACITY / 2 + 1, CAPACITY - 1,
      CAPACITY};
  for (uint32_t i = 0; i < 12; i++) {
    oap_key key = key_numbered(UINT64_MAX, UINT32_MAX, i);
    oap_chunk chunk;
    CHECK(chunk_put(pool, &key, odd[i]) == 0);
    CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
    CHECK(chunk.bytes == odd[i] && chunk_is_right(&key, &chunk));
    CHECK(oap_pool_unpin(pool, &chunk) == 0);
    CHECK_VALID(pool);
  }
  pool_close(pool);
}

static void chunks_that_cannot_fit(void) {
  oap_pool *pool = pool_open(CAPACITY, 0);
  oap_chunk pinned[4], none;
  /* Four chunks fill the pool, two of them stay pinned. */
  for (uint32_t i = 0; i < 4; i++) {
    oap_key key = key_numbered(1, 0, i);
    CHECK(oap_pool_reserve(pool, &key, CAPACITY / 4, &pinned[i]) == 0);
    CHECK(oap_pool_publish(pool, &pinned[i]) == 0);
  }
  CHECK(oap_pool_unpin(pool, &pinned[0]) == 0 && oap_pool_unpin(pool, &pinned[2]) == 0);
  oap_key key = key_numbered(2, 0, 0);
  CHECK(oap_pool_reserve(pool, &key, 0, &none) == -EINVAL);
  CHECK(oap_pool_reserve(pool, &key, CAPACITY + 1, &none) == -EFBIG);
  CHECK(oap_pool_reserve(pool, &key, UINT64_MAX, &none) == -EFBIG);
  CHECK(oap_pool_reserve(pool, &key, UINT64_C(1) << 63, &none) == -EFBIG);
  CHECK(oap_pool_reserve(pool, &key, CAPACITY / 2 + 1, &none) == -ENOSPC);
  oap_key first = key_numbered(1, 0, 0);
  CHECK(oap_pool_reserve(pool, &first, CAPACITY / 4, &none) == -EEXIST);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.evictions == 0 && stats.chunks == 4);
  CHECK(stats.refused_too_large == 3 && stats.refused_no_room == 1 && stats.refused_present == 1);
  /* What is not pinned gives exactly so much room. */
  CHECK(chunk_put(pool, &key, CAPACITY / 2) == 0);
  oap_pool_stats(pool, &stats);
  CHECK(stats.evictions == 2 && stats.chunks == 3);
  CHECK(oap_pool_unpin(pool, &pinned[1]) == 0 && oap_pool_unpin(pool, &pinned[3]) == 0);
  CHECK(oap_pool_unpin(pool, &pinned[3]) == -EINVAL);
  pool_close(pool);
}

static void sizes_that_cannot_become(void) {
  const uint64_t wrong[] = {0, 1, OAP_LEAST_CAPACITY - 1};
  const uint64_t large[] = {CAPACITY * OAP_MOST_GROWTH + 4096, UINT64_C(1) << 46, UINT64_C(1) << 63,
                            (UINT64_C(1) << 63) - 1, UINT64_MAX};
  oap_pool *pool = pool_open(CAPACITY, 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, CAPACITY) == 0);
  for (int i = 0; i < 3; i++) {
    CHECK(oap_pool_resize(pool, wrong[i]) == -EINVAL);
  }
  for (int i = 0; i < 5; i++) {
    CHECK(oap_pool_resize(pool, large[i]) == -EFBIG);
  }
  CHECK(oap_pool_is_held(pool, &key)); /* a refusal changes nothing */
  CHECK(oap_pool_resize(pool, CAPACITY * OAP_MOST_GROWTH) == 0);
  CHECK(oap_pool_is_held(pool, &key));
  oap_key large_key = key_numbered(2, 0, 0);
  CHECK(chunk_put(pool, &large_key, CAPACITY * (OAP_MOST_GROWTH - 1)) == 0);
  CHECK_VALID(pool);
  /* One pinned where the pool no longer is. */
  oap_chunk chunk;
  CHECK(oap_pool_pin(pool, &large_key, &chunk) == 0);
  CHECK(oap_pool_resize(pool, CAPACITY) == 0);
  CHECK_VALID(pool);
  CHECK(oap_pool_is_held(pool, &key) && !oap_pool_is_held(pool, &large_key));
  CHECK(chunk_is_right(&large_key, &chunk));
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.capacity_bytes == CAPACITY && stats.used_bytes == CAPACITY * OAP_MOST_GROWTH);
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  oap_pool_stats(pool, &stats);
  CHECK(stats.used_bytes == CAPACITY && stats.drops == 1 && stats.evictions == 0);
  pool_close(pool);
}

/* Disk space comes and goes with the capacity. */
static void files_that_grow(void) {
  const char *shm = "/dev/shm";
  oap_options options = {
      .capacity = 16 * CAPACITY, .medium = OAP_FILE, .paths = &shm, .path_count = 1};
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  uint64_t opened = free_bytes(shm);
  CHECK(oap_pool_resize(pool, 64 * CAPACITY) == 0);
  CHECK(opened - free_bytes(shm) > 40 * CAPACITY);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 40 * CAPACITY) == 0);
  CHECK(oap_pool_resize(pool, 16 * CAPACITY) == 0);
  CHECK(free_bytes(shm) + 8 * CAPACITY > opened);
  CHECK(!oap_pool_is_held(pool, &key));
  pool_close(pool);
}

static void slots_that_run_out(void) {
  oap_pool *pool = pool_open(CAPACITY, 0);
  for (uint32_t i = 0; i < 5000; i++) {
    oap_key key = key_numbered(i, 0, 0);
    CHECK(chunk_put(pool, &key, 1 + i % 64) == 0);
  }
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.chunks >= 256 && stats.evictions == 5000 - stats.chunks);
  pool_close(pool);
}

static void chunks_larger_than_a_window(void) {
  oap_pool *pool = pool_open(3 * OAP_WINDOW_BYTES + CAPACITY, 0);
  oap_key key = key_numbered(1, 1, 1);
  oap_chunk chunk;
  CHECK(oap_pool_reserve(pool, &key, 2 * OAP_WINDOW_BYTES + 5, &chunk) == 0);
  CHECK(chunk.pieces == 3);
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    uint64_t last = chunk.piece[i].position + chunk.piece[i].bytes - 1;
    CHECK(chunk.piece[i].position / OAP_WINDOW_BYTES == last / OAP_WINDOW_BYTES);
  }
  CHECK(oap_pool_abandon(pool, &chunk) == 0);
  CHECK(oap_pool_reserve(pool, &key, 3 * OAP_WINDOW_BYTES + CAPACITY, &chunk) == 0);
  CHECK(chunk.pieces == 4);
  CHECK(oap_pool_abandon(pool, &chunk) == 0);
  pool_close(pool);
}

static void chunks_that_are_not_held(void) {
  oap_pool *pool = pool_open(CAPACITY, 0);
  const oap_chunk wrong[] = {
      {.slot = 0}, {.slot = 1}, {.slot = UINT32_MAX}, {.slot = 1, .generation = 1}, {.shard = 9}};
  for (int i = 0; i < 5; i++) {
    CHECK(oap_pool_publish(pool, &wrong[i]) == -EINVAL);
    CHECK(oap_pool_abandon(pool, &wrong[i]) == -EINVAL);
    CHECK(oap_pool_unpin(pool, &wrong[i]) == -EINVAL);
  }
  /* A chunk of a slot that has since been given to another. */
  oap_key key = key_numbered(1, 0, 0);
  oap_chunk old, young;
  CHECK(oap_pool_reserve(pool, &key, 100, &old) == 0 && oap_pool_abandon(pool, &old) == 0);
  CHECK(oap_pool_reserve(pool, &key, 100, &young) == 0);
  CHECK(old.slot == young.slot);
  CHECK(oap_pool_publish(pool, &old) == -EINVAL && oap_pool_abandon(pool, &old) == -EINVAL);
  CHECK(oap_pool_publish(pool, &young) == 0);
  CHECK(oap_pool_unpin(pool, &old) == -EINVAL);
  CHECK(oap_pool_unpin(pool, &young) == 0);
  pool_close(pool);
}

/* Two chunks fill the pool; the one that was published first leaves, unless it has been used. */
static void pins_that_are_no_uses(void) {
  const char *policies[] = {"lru", "s3fifo", "generations"};
  for (int i = 0; i < 3; i++) {
    for (int is_use = 0; is_use < 2; is_use++) {
      oap_options options = {.capacity = CAPACITY, .policy = policies[i], .shards = 1};
      oap_pool *pool;
      CHECK(oap_pool_open(&options, &pool) == 0);
      oap_key key[3];
      oap_chunk chunk;
      for (uint32_t k = 0; k < 3; k++) {
        key[k] = key_numbered(1, 0, k);
        CHECK(oap_pool_reserve(pool, &key[k], CAPACITY * 2 / 5, &chunk) == 0);
        CHECK(oap_pool_publish(pool, &chunk) == 0 && oap_pool_unpin(pool, &chunk) == 0);
        for (int uses = 0; k == 1 && uses < 2; uses++) {
          CHECK((is_use ? oap_pool_pin : oap_pool_pin_unused)(pool, &key[0], &chunk) == 0);
          CHECK(oap_pool_unpin(pool, &chunk) == 0);
        }
      }
      CHECK(oap_pool_is_held(pool, &key[0]) == is_use);
      CHECK(oap_pool_is_held(pool, &key[1]) != is_use);
      CHECK(oap_pool_pin_unused(pool, &key[is_use], &chunk) == -ENOENT);
      oap_stats stats;
      oap_pool_stats(pool, &stats);
      CHECK(stats.hits == (is_use ? 2 : 0) && stats.misses == 0);
      pool_close(pool);
    }
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  memory_in_advance();
  odd_sizes();
  chunks_that_cannot_fit();
  sizes_that_cannot_become();
  files_that_grow();
  slots_that_run_out();
  chunks_larger_than_a_window();
  chunks_that_are_not_held();
  pins_that_are_no_uses();
  return 0;
}
