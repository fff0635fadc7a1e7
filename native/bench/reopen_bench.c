/*
 * How long it takes to open a pool of 100 GB with 400,000 chunks that another process has left, and
 * what keeping a pool in named files, or sharing it, costs a hit. The first pool's files are
 * sparse: neither reserves room nor reads chunks, since the calls for that are stood in for. Takes
 * a directory, /dev/shm if none is given. Exits with 1 when a bar is missed.
 */
#include "measure.h"
#include "oap_pool.h"
#include "shard/content.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LARGE UINT64_C(100000000000)
#define CHUNKS 400000
#define BAR_SECONDS 1.0
#define BAR_SHARED_PIN 1.3
#define BAR_PIN 1.1
#define ROUNDS 31

static bool is_sparse = true;

int __real_posix_fallocate(int file, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int file, off_t offset, off_t bytes);
int __real_fstatvfs(int file, struct statvfs *out);
int __wrap_fstatvfs(int file, struct statvfs *out);
uint64_t __real_oap_content_hash(const oap_shard *shard, const oap_slot *slot);
uint64_t __wrap_oap_content_hash(const oap_shard *shard, const oap_slot *slot);

int __wrap_posix_fallocate(int file, off_t offset, off_t bytes) {
  return is_sparse ? 0 : __real_posix_fallocate(file, offset, bytes);
}

int __wrap_fstatvfs(int file, struct statvfs *out) {
  int result = __real_fstatvfs(file, out);
  if (is_sparse) {
    out->f_blocks = out->f_bavail = LARGE;
  }
  return result;
}

uint64_t __wrap_oap_content_hash(const oap_shard *shard, const oap_slot *slot) {
  return is_sparse ? 1 : __real_oap_content_hash(shard, slot);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static oap_pool *open_pool(const oap_options *options) {
  oap_pool *pool;
  int error = oap_pool_open(options, &pool);
  if (error != 0) {
    fprintf(stderr, "no pool in %s: %s\n", options->paths[0], strerror(-error));
    exit(2);
  }
  return pool;
}

static oap_key key_of(uint32_t i) { return (oap_key){.file_low = i / 50, .column = i % 50}; }

static void put(oap_pool *pool, uint32_t i, uint64_t bytes) {
  oap_key key = key_of(i);
  oap_chunk chunk;
  if (oap_pool_reserve(pool, &key, bytes, &chunk) == 0) {
    if (!is_sparse) {
      memset(chunk.piece[0].data, 1, chunk.piece[0].bytes);
    }
    oap_pool_publish(pool, &chunk);
    oap_pool_unpin(pool, &chunk);
  }
}

static void remove_files(const oap_pool *pool) {
  static const char *const endings[] = {".data", ".meta"};
  for (int i = 0; i < 2; i++) {
    char path[600];
    snprintf(path, sizeof(path), "%s%s", oap_pool_origin(pool)->home, endings[i]);
    unlink(path);
  }
}

/* Seconds that opening takes. */
static double open_large(oap_options options) {
  options.capacity = LARGE;
  oap_pool *pool = open_pool(&options);
  uint64_t random = 1;
  for (uint32_t i = 0; i < CHUNKS; i++) {
    put(pool, i, 100000 + random_next(&random) % 250000);
  }
  oap_pool_close(pool);
  double start = now();
  pool = open_pool(&options);
  double seconds = now() - start;
  const oap_origin *origin = oap_pool_origin(pool);
  printf("opening %llu chunks, %.1f GB: %.3f s (bar %.1f)\n", (unsigned long long)origin->chunks,
         (double)origin->bytes * 1e-9, seconds, BAR_SECONDS);
  bool is_whole = origin->is_reopened && origin->chunks > CHUNKS * 0.99;
  remove_files(pool);
  oap_pool_close(pool);
  return is_whole ? seconds : 1e9;
}

/* Processor time of a pin and unpin, in nanoseconds. */
static double pin_all(oap_pool *pool, uint32_t chunks) {
  enum { PINS = 100000 };
  uint64_t random = 7;
  double start = cpu_now();
  for (int i = 0; i < PINS; i++) {
    oap_key key = key_of((uint32_t)(random_next(&random) % chunks));
    oap_chunk chunk;
    if (oap_pool_pin(pool, &key, &chunk) == 0) {
      oap_pool_unpin(pool, &chunk);
    }
  }
  return (cpu_now() - start) * 1e9 / PINS;
}

/* Hits in a pool that was reopened, or is shared, to those in one without a name, in turn. */
static double pin_ratio(oap_options options, uint32_t chunks) {
  const char *name = options.shared ? "shared" : "reopened";
  double bar = options.shared ? BAR_SHARED_PIN : BAR_PIN;
  options.capacity = UINT64_C(512) << 20;
  oap_pool *kept = open_pool(&options);
  for (uint32_t i = 0; i < chunks; i++) {
    put(kept, i, 4096);
  }
  oap_pool_close(kept);
  kept = open_pool(&options);
  options.reopen = false;
  options.shared = false;
  oap_pool *unnamed = open_pool(&options);
  for (uint32_t i = 0; i < chunks; i++) {
    put(unnamed, i, 4096);
  }
  pin_all(kept, chunks); /* which verifies */
  double of_kept[ROUNDS], of_unnamed[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    of_kept[i] = pin_all(kept, chunks);
    of_unnamed[i] = pin_all(unnamed, chunks);
  }
  double ratio = median(of_kept, ROUNDS) / median(of_unnamed, ROUNDS);
  printf("pin + unpin of %u chunks, %s: %.0f ns, unnamed %.0f ns, ratio %.2f (bar %.1f)\n", chunks,
         name, median(of_kept, ROUNDS), median(of_unnamed, ROUNDS), ratio, bar);
  remove_files(kept);
  oap_pool_close(kept);
  oap_pool_close(unnamed);
  return ratio;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "/dev/shm";
  oap_options options = {
      .medium = OAP_FILE, .paths = &path, .path_count = 1, .reopen = true, .keep_seconds = 3600};
  bool is_met = open_large(options) <= BAR_SECONDS;
  is_sparse = false;
  is_met &= pin_ratio(options, 1000) <= BAR_PIN;
  is_met &= pin_ratio(options, 100000) <= BAR_PIN;
  options.shared = true;
  is_met &= pin_ratio(options, 1000) <= BAR_SHARED_PIN;
  is_met &= pin_ratio(options, 100000) <= BAR_SHARED_PIN;
  return is_met ? 0 : 1;
}
