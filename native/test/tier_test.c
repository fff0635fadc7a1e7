/* Random operations on a file tier against a naive map, on a disk that fails now and then: what the
 * tier gives is right and was not dropped, whatever the disk does. Then: which chunks survive, when
 * a tier switches itself off, what cannot be opened. */
#include "tier_chunk.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define FILES 5
#define COLUMNS 12
#define KEYS (FILES * COLUMNS)

ssize_t __real_pread(int file, void *data, size_t bytes, off_t at);
ssize_t __wrap_pread(int file, void *data, size_t bytes, off_t at);
ssize_t __real_pwrite(int file, const void *data, size_t bytes, off_t at);
ssize_t __wrap_pwrite(int file, const void *data, size_t bytes, off_t at);

/* One call of so many fails, each in one of several ways; 0: none. */
static uint64_t faults;
static uint64_t fault_random;
static uint64_t faults_so_far;

static bool comes_to_fail(void) {
  bool fails = faults != 0 && random_below(&fault_random, faults) == 0;
  faults_so_far += fails;
  return fails;
}

ssize_t __wrap_pread(int file, void *data, size_t bytes, off_t at) {
  if (!comes_to_fail()) {
    return __real_pread(file, data, bytes, at);
  }
  ssize_t n = __real_pread(file, data, bytes, at);
  switch (random_below(&fault_random, 3)) {
  case 0:
    errno = EIO;
    return -1;
  case 1:
    return 0;
  default:
    CHECK(n > 0);
    for (ssize_t i = 0; i < n; i += 512) { /* whatever part of it is a chunk's */
      ((unsigned char *)data)[i] ^= 1;
    }
    return n;
  }
}

ssize_t __wrap_pwrite(int file, const void *data, size_t bytes, off_t at) {
  if (!comes_to_fail()) {
    return __real_pwrite(file, data, bytes, at);
  }
  size_t half = bytes / 2 / OAP_TIER_BLOCK * OAP_TIER_BLOCK;
  ssize_t torn = half == 0 ? 0 : __real_pwrite(file, data, half, at);
  switch (random_below(&fault_random, 3)) {
  case 0:
    errno = ENOSPC;
    return -1;
  case 1:
    errno = EIO;
    return -1;
  default:
    return torn < 0 ? -1 : (ssize_t)bytes; /* lost, and nobody is told */
  }
}

typedef struct model {
  oap_tier *tier;
  uint64_t random;
  uint64_t bytes[KEYS]; /* of the chunk that was put last; 0: none, or dropped */
  uint64_t notes[KEYS];
} model;

static oap_key key_of(uint32_t k) { return key_numbered(k / COLUMNS, k % 3, k % COLUMNS); }

static void put(model *m, uint32_t k) {
  oap_key key = key_of(k);
  uint64_t bytes = random_size(&m->random, 1, TIER_SEGMENT + OAP_TIER_BLOCK);
  uint64_t note = random_below(&m->random, 3) == 0 ? 0 : random_next(&m->random);
  oap_chunk chunk;
  void *memory = tier_chunk_make(&m->random, bytes, &chunk);
  chunk_fill(&key, &chunk);
  int result = oap_tier_put(m->tier, &key, &chunk, note);
  CHECK(bytes <= TIER_SEGMENT || result == -EFBIG);
  if (result == 0) {
    m->bytes[k] = bytes;
    m->notes[k] = note;
  } else {
    CHECK(result == -EFBIG || result == -ESHUTDOWN || (result == -EEXIST && m->bytes[k] != 0));
  }
  free(memory);
}

static void read_one(model *m, uint32_t k) {
  oap_key key = key_of(k);
  uint64_t bytes = 0;
  uint64_t note = 0;
  int found = oap_tier_find(m->tier, &key, &bytes);
  CHECK(found == 0 || found == -ENOENT || found == -ESHUTDOWN);
  CHECK(found != 0 || bytes == m->bytes[k]);
  oap_chunk chunk;
  void *memory = tier_chunk_make(&m->random, found == 0 ? bytes : 1 + k, &chunk);
  int result = oap_tier_read(m->tier, &key, &chunk, &note);
  if (result == 0) {
    CHECK(found == 0 && note == m->notes[k] && chunk_is_right(&key, &chunk));
    chunk.bytes++;
    CHECK(oap_tier_read(m->tier, &key, &chunk, &note) == -ENOENT);
  } else {
    CHECK(found != 0 || faults != 0);
    uint64_t again;
    CHECK(oap_tier_find(m->tier, &key, &again) != 0); /* held no more */
  }
  free(memory);
}

static void drop(model *m, uint32_t k) {
  oap_key key = key_of(k);
  switch (random_below(&m->random, 8)) {
  case 0:
    oap_tier_clear(m->tier);
    memset(m->bytes, 0, sizeof(m->bytes));
    break;
  case 1:
  case 2:
    oap_tier_drop_file(m->tier, key.file_high, key.file_low);
    memset(&m->bytes[k / COLUMNS * COLUMNS], 0, COLUMNS * sizeof(m->bytes[0]));
    break;
  default:
    CHECK(oap_tier_drop(m->tier, &key) == -ENOENT || m->bytes[k] != 0);
    m->bytes[k] = 0;
  }
  uint64_t bytes;
  CHECK(oap_tier_find(m->tier, &key, &bytes) != 0);
}

static void operate(model *m) {
  uint32_t k = (uint32_t)random_below(&m->random, KEYS);
  uint64_t what = random_below(&m->random, 100);
  if (what < 45) {
    put(m, k);
  } else if (what < 90) {
    read_one(m, k);
  } else if (what < 97) {
    oap_tier_flush(m->tier);
  } else {
    drop(m, k);
  }
}

static void run(uint64_t seed, const char *path) {
  model m = {.random = seed};
  fault_random = seed;
  m.tier = tier_open(1 + random_below(&m.random, 8), path);
  faults = (uint64_t[]){0, 0, 100, 10}[random_below(&m.random, 4)];
  faults_so_far = 0;
  for (int i = 0; i < 800; i++) {
    operate(&m);
    if (i % 50 == 0) {
      CHECK_TIER(m.tier);
    }
  }
  CHECK_TIER(m.tier);
  oap_tier_stats stats = tier_stats(m.tier);
  CHECK((faults_so_far == 0) == (stats.errors == 0) || faults != 0);
  CHECK(stats.held_bytes <= stats.capacity_bytes);
  oap_tier_stop(m.tier);
  CHECK(tier_stats(m.tier).chunks == 0);
  memset(m.bytes, 0, sizeof(m.bytes));
  read_one(&m, 0);
  oap_tier_close(m.tier);
  faults = 0;
}

static void put_numbered(oap_tier *tier, uint32_t number, uint64_t bytes) {
  uint64_t random = number;
  oap_key key = key_numbered(number, 0, 0);
  oap_chunk chunk;
  void *memory = tier_chunk_make(&random, bytes, &chunk);
  chunk_fill(&key, &chunk);
  CHECK(oap_tier_put(tier, &key, &chunk, number) == 0);
  free(memory);
}

static bool read_numbered(oap_tier *tier, uint32_t number, uint64_t bytes) {
  uint64_t random = number;
  uint64_t note;
  oap_key key = key_numbered(number, 0, 0);
  oap_chunk chunk;
  void *memory = tier_chunk_make(&random, bytes, &chunk);
  int result = oap_tier_read(tier, &key, &chunk, &note);
  CHECK(result != 0 || (note == number && chunk_is_right(&key, &chunk)));
  free(memory);
  return result == 0;
}

/* What was read since it was written outlives a turn of the log, and the rest does not. */
static void survivors(const char *path) {
  enum { SEGMENTS = 4, EACH = TIER_BLOCKS, CHUNKS = SEGMENTS * EACH };
  oap_tier *tier = tier_open(SEGMENTS, path);
  for (uint32_t i = 0; i < CHUNKS; i++) {
    put_numbered(tier, i, OAP_TIER_BLOCK);
  }
  oap_tier_flush(tier);
  CHECK(tier_stats(tier).evicted_segments == 0);
  for (uint32_t i = 0; i < CHUNKS; i += 4) {
    CHECK(read_numbered(tier, i, OAP_TIER_BLOCK));
  }
  for (uint32_t i = CHUNKS; i < CHUNKS + CHUNKS / 4 * 3; i++) {
    put_numbered(tier, i, OAP_TIER_BLOCK);
  }
  oap_tier_flush(tier);
  CHECK_TIER(tier);
  for (uint32_t i = 0; i < CHUNKS; i++) {
    CHECK(read_numbered(tier, i, OAP_TIER_BLOCK) == (i % 4 == 0));
  }
  CHECK(tier_stats(tier).evicted_segments == SEGMENTS && tier_stats(tier).errors == 0);
  oap_tier_close(tier);
}

static void switches_itself_off(const char *path) {
  oap_tier *tier = tier_open(4, path);
  put_numbered(tier, 1, 1);
  oap_tier_flush(tier);
  faults = 1;
  uint32_t writes = 0;
  uint64_t bytes;
  oap_key key = key_numbered(1, 0, 0);
  fault_random = 1;
  while (oap_tier_find(tier, &key, &bytes) == 0) {
    CHECK(++writes < 1000);
    put_numbered(tier, 1 + writes, OAP_TIER_BLOCK);
    oap_tier_flush(tier);
  }
  CHECK(writes >= 16 && oap_tier_find(tier, &key, &bytes) == -ESHUTDOWN);
  faults = 0;
  CHECK(!read_numbered(tier, 1, 1));
  CHECK(tier_stats(tier).is_off == 1 && tier_stats(tier).errors >= 16);
  CHECK_TIER(tier);
  oap_tier_close(tier);
}

static unsigned pins;
int __real_oap_pool_pin_unused(oap_pool *pool, const oap_key *key, oap_chunk *out);
int __wrap_oap_pool_pin_unused(oap_pool *pool, const oap_key *key, oap_chunk *out);

int __wrap_oap_pool_pin_unused(oap_pool *pool, const oap_key *key, oap_chunk *out) {
  pins++;
  return __real_oap_pool_pin_unused(pool, key, out);
}

static uint64_t blocks_of(const oap_tier *tier) {
  struct stat file;
  CHECK(fstat(tier->file.fd, &file) == 0);
  return (uint64_t)file.st_blocks;
}

/* A chunk comes into the pool for the second time. */
static void come_again(oap_tier *tier, oap_pool *pool, uint32_t number) {
  oap_key key = key_numbered(number, 0, 0);
  CHECK(chunk_put(pool, &key, OAP_TIER_BLOCK) == 0);
  oap_tier_came(tier, &key);
  oap_tier_came(tier, &key);
}

/* A tier that is off takes neither disk room nor work from then on. */
static void leaves_its_pool_alone(const char *path) {
  oap_pool *pool = pool_open(OAP_LEAST_CAPACITY, 1);
  oap_tier *tier = tier_open(4, path);
  CHECK(blocks_of(tier) > 0);
  fault_random = 1;
  faults = 1;
  CHECK(oap_tier_follow(tier, pool) == 0);
  uint32_t came = 0;
  for (; tier_stats(tier).is_off == 0 || blocks_of(tier) > 0; came++) {
    CHECK(came < 10000);
    come_again(tier, pool, came);
    usleep(1000);
  }
  oap_periodic_end(&tier->thread);
  faults = 0;
  CHECK(pins > 0);
  pins = 0;
  come_again(tier, pool, came);
  oap_tier_copy_down(tier);
  CHECK(pins == 0);
  oap_tier_stop(tier);
  oap_tier_close(tier);
  pool_close(pool);
}

static int opens(uint64_t capacity, const char *path) {
  oap_tier_options options = {.path = path, .capacity = capacity};
  oap_tier *tier;
  int error = oap_tier_open(&options, &tier);
  if (error == 0) {
    oap_tier_close(tier);
  }
  return error;
}

static void cannot_be_opened(const char *path) {
  CHECK(opens(OAP_TIER_SEGMENT, path) == 0);
  CHECK(opens(OAP_TIER_SEGMENT - 1, path) == -EINVAL);
  CHECK(opens(OAP_TIER_SEGMENT, "/nowhere") == -ENOENT);
  CHECK(opens(OAP_TIER_SEGMENT, "/proc/self/stat") == -ENOTDIR);
  CHECK(opens(UINT64_C(1) << 43, path) == -ENOSPC);
  CHECK(opens(UINT64_C(1) << 60, path) == -EFBIG);
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = {.rlim_cur = OAP_TIER_SEGMENT - 1, .rlim_max = before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK(opens(OAP_TIER_SEGMENT, path) == -EFBIG);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t first = check_seed;
  const char *paths[] = {".", "/dev/shm"}; /* with and without O_DIRECT, mostly */
  uint64_t runs = check_runs(40);
  for (uint64_t i = 0; i < runs; i++) {
    check_seed = first + i;
    run(check_seed, paths[i % 2]);
  }
  for (int i = 0; i < 2; i++) {
    survivors(paths[i]);
    switches_itself_off(paths[i]);
    leaves_its_pool_alone(paths[i]);
    cannot_be_opened(paths[i]);
  }
  return 0;
}
