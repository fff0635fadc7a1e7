/* What cannot be is refused, with the right error and without harm: pools that cannot be opened,
 * chunks of odd sizes, chunks that cannot fit, calls with chunks that are not held. */
#include "check.h"
#include "pool/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)

static void close_valid(oap_pool *pool) {
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
}

static int opens(oap_options options) {
  oap_pool *pool = NULL;
  int result = oap_pool_open(&options, &pool);
  if (result == 0) {
    close_valid(pool);
  } else {
    CHECK(pool == NULL);
  }
  return result;
}

static int opens_in(enum oap_medium medium, uint64_t capacity, const char *path) {
  return opens(
      (oap_options){.capacity = capacity, .medium = medium, .paths = &path, .path_count = 1});
}

static void sizes_that_cannot_be(void) {
  const uint64_t small[] = {0, 1, 4096, OAP_LEAST_CAPACITY - 1};
  for (int i = 0; i < 4; i++) {
    CHECK(opens((oap_options){.capacity = small[i]}) == -EINVAL);
    CHECK(opens_in(OAP_FILE, small[i], "/dev/shm") == -EINVAL);
  }
  const uint64_t large[] = {UINT64_MAX,        UINT64_MAX - 4096,
                            UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1,
                            UINT64_C(1) << 60, UINT64_C(1) << 47};
  for (int i = 0; i < (check_is_memcheck() ? 5 : 6); i++) {
    CHECK(opens((oap_options){.capacity = large[i]}) == -ENOMEM);
  }
  CHECK(opens((oap_options){.capacity = OAP_LEAST_CAPACITY}) == 0);
  CHECK(opens((oap_options){.capacity = OAP_LEAST_CAPACITY + 4095}) == 0);
}

static void options_that_contradict(void) {
  const char *shm = "/dev/shm";
  CHECK(opens((oap_options){.capacity = CAPACITY, .policy = "none"}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 3}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 128}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 32}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .shards = 16}) == 0);
  CHECK(opens((oap_options){.capacity = CAPACITY, .paths = &shm, .path_count = 1}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .medium = OAP_FILE}) == -EINVAL);
  CHECK(opens((oap_options){.capacity = CAPACITY, .nodes = 1}) == -EINVAL);
}

/* The error of a user who owns nothing; root may write anywhere, so it gives up its rights first.
 */
static int as_nobody(enum oap_medium medium, const char *path) {
  enum { NOBODY = 65534 };
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    bool is_other = geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    _exit(is_other ? -opens_in(medium, CAPACITY, path) : 0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void places_that_cannot_be(void) {
  char directory[] = "/tmp/oap-fault-XXXXXX";
  char name[64];
  CHECK(mkdtemp(directory) != NULL);
  snprintf(name, sizeof(name), "%s/file", directory);
  FILE *file = fopen(name, "w");
  CHECK(file != NULL && fclose(file) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, name) == -ENOTDIR);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENODEV);
  int held = open(name, O_RDWR | O_CLOEXEC); /* as another pool would hold a device */
  CHECK(held >= 0 && flock(held, LOCK_EX) == 0);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -EBUSY);
  CHECK(flock(held, LOCK_UN) == 0);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENODEV);
  CHECK(flock(held, LOCK_EX | LOCK_NB) == 0 && close(held) == 0); /* a refusal leaves no lock */
  CHECK(unlink(name) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, name) == -ENOENT);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, name) == -ENOENT);
  CHECK(opens_in(OAP_DEVDAX, 4 * CAPACITY, "/dev/null") == -ENODEV);
  CHECK(opens_in(OAP_FSDAX, CAPACITY, "/dev/shm") == -EOPNOTSUPP);
  CHECK(opens_in(OAP_FILE, UINT64_C(1) << 46, "/dev/shm") == -ENOSPC);
  CHECK(opens_in(OAP_FILE, CAPACITY, "/dev/shm") == 0);
  CHECK(chmod(directory, 0500) == 0);
  CHECK(as_nobody(OAP_FILE, directory) == EACCES);
  CHECK(rmdir(directory) == 0); /* nothing was left in it */
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK(opens_in(OAP_FILE, CAPACITY, "/dev/shm") == -EMFILE);
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* An arena as on a device, made by hand of a file, since few machines have a device. */
static void locks_of_arenas(void) {
  char name[] = "/tmp/oap-fault-XXXXXX";
  int other = mkostemp(name, O_CLOEXEC);
  CHECK(other >= 0);
  for (int retire = 0; retire < 2; retire++) {
    oap_arena arena;
    oap_options options = {.medium = OAP_DRAM};
    CHECK(oap_arena_open(&arena, &options, 0, 1, CAPACITY, CAPACITY) == 0 && arena.file == -1);
    arena.file = open(name, O_RDWR | O_CLOEXEC);
    CHECK(arena.file >= 0 && flock(arena.file, LOCK_EX | LOCK_NB) == 0);
    int in_a_child = dup(arena.file);
    CHECK(flock(other, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    CHECK(retire == 0 || oap_arena_empty(&arena) == 0);
    CHECK((flock(other, LOCK_EX | LOCK_NB) == 0) == (retire == 1));
    oap_arena_close(&arena);
    CHECK(flock(other, LOCK_EX | LOCK_NB) == 0 && flock(other, LOCK_UN) == 0);
    CHECK(close(in_a_child) == 0);
  }
  CHECK(close(other) == 0 && unlink(name) == 0);
}

static void nodes(void) {
  /* Kernels without NUMA know neither nodes nor the call. */
  int own = opens((oap_options){.capacity = CAPACITY, .medium = OAP_NODE});
  CHECK(own == 0 || own == -ENOSYS || own == -EPERM);
  if (own == 0) {
    CHECK(opens((oap_options){.capacity = CAPACITY, .medium = OAP_NODE, .nodes = 1}) == 0);
    CHECK(opens((oap_options){
              .capacity = CAPACITY, .medium = OAP_NODE, .nodes = 1, .interleave = true}) == 0);
    CHECK(opens((oap_options){
              .capacity = CAPACITY, .medium = OAP_NODE, .nodes = UINT64_C(1) << 63}) == -EINVAL);
  }
}

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
  close_valid(pool);
  CHECK(opens(options) == 0); /* and at once: the thread does not outlive it */
}

static oap_pool *open_anonymous(uint64_t capacity) {
  oap_pool *pool;
  oap_options options = {.capacity = capacity};
  CHECK(oap_pool_open(&options, &pool) == 0);
  return pool;
}

static uint64_t free_bytes(const char *path) {
  struct statvfs system;
  CHECK(statvfs(path, &system) == 0);
  return system.f_bfree * system.f_frsize;
}

static void odd_sizes(void) {
  oap_pool *pool = open_anonymous(CAPACITY);
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
  close_valid(pool);
}

static void chunks_that_cannot_fit(void) {
  oap_pool *pool = open_anonymous(CAPACITY);
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
  close_valid(pool);
}

static void sizes_that_cannot_become(void) {
  const uint64_t wrong[] = {0, 1, OAP_LEAST_CAPACITY - 1};
  const uint64_t large[] = {CAPACITY * OAP_MOST_GROWTH + 4096, UINT64_C(1) << 46, UINT64_C(1) << 63,
                            (UINT64_C(1) << 63) - 1, UINT64_MAX};
  oap_pool *pool = open_anonymous(CAPACITY);
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
  close_valid(pool);
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
  close_valid(pool);
}

static void slots_that_run_out(void) {
  oap_pool *pool = open_anonymous(CAPACITY);
  for (uint32_t i = 0; i < 5000; i++) {
    oap_key key = key_numbered(i, 0, 0);
    CHECK(chunk_put(pool, &key, 1 + i % 64) == 0);
  }
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.chunks >= 256 && stats.evictions == 5000 - stats.chunks);
  close_valid(pool);
}

static void chunks_larger_than_a_window(void) {
  oap_pool *pool = open_anonymous(3 * OAP_WINDOW_BYTES + CAPACITY);
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
  close_valid(pool);
}

static void chunks_that_are_not_held(void) {
  oap_pool *pool = open_anonymous(CAPACITY);
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
  close_valid(pool);
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
      close_valid(pool);
    }
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  sizes_that_cannot_be();
  options_that_contradict();
  places_that_cannot_be();
  locks_of_arenas();
  nodes();
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
