/* A pool that outlives its process is taken over by the next one of the same shape, and by nobody
 * else: not while it is in use, by another version, with another size, or damaged. */
#include "home.h"
#include "home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)
#define BYTES UINT64_C(30000)

static oap_key key_of(uint32_t i) { return key_numbered(i / 4, i, 1); }

static void put(oap_pool *pool, uint32_t chunks) {
  for (uint32_t i = 0; i < chunks; i++) {
    oap_key key = key_of(i);
    int result = chunk_put(pool, &key, BYTES);
    CHECK(result == 0 || result == -EEXIST);
  }
}

static void check_held(oap_pool *pool, uint32_t chunks) {
  for (uint32_t i = 0; i < chunks; i++) {
    oap_key key = key_of(i);
    oap_chunk chunk;
    CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
    CHECK(chunk.bytes == BYTES && chunk_is_right(&key, &chunk));
    CHECK(oap_pool_unpin(pool, &chunk) == 0);
  }
}

/* Opens a pool with some chunks and leaves it to the next one. */
static void leave(const oap_options *options, uint32_t chunks) {
  oap_pool *pool;
  home_open(options, &pool);
  put(pool, chunks);
  pool_close(pool);
}

/* Closed, retired or resized, it is found again with all that it held. */
static void goes_on(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  leave(&options, 20);
  CHECK(home_open(&options, &pool));
  CHECK(oap_pool_origin(pool)->chunks == 20 && oap_pool_origin(pool)->bytes == 20 * BYTES);
  check_held(pool, 20);
  CHECK(oap_pool_retire(pool) == 0);
  oap_pool *next; /* while the one that has been retired is still there */
  CHECK(home_open(&options, &next));
  CHECK(oap_pool_close(pool) == 0);
  check_held(next, 20);
  CHECK(oap_pool_resize(next, 4 * CAPACITY) == 0);
  put(next, 100);
  check_held(next, 100);
  pool_close(next);
  CHECK(home_open(&options, &pool)); /* what lies above its size is gone */
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.capacity_bytes == CAPACITY && stats.chunks > 0 && stats.chunks < 40);
  CHECK(oap_pool_origin(pool)->refused == 100 - stats.chunks);
  CHECK(oap_pool_resize(pool, CAPACITY / 4) == 0);
  pool_close(pool);
  CHECK(home_open(&options, &pool));
  put(pool, 10);
  pool_close(pool);
  CHECK(home_count(".meta") == 1 && home_count(".data") == 1);
}

/* What another application cannot know is not kept. */
static void batches_are_dropped(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  oap_key key = key_of(0);
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  key.representation = (uint64_t)OAP_CACHED_BATCH << OAP_KIND_SHIFT;
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  key.representation = UINT64_C(77) << OAP_KIND_SHIFT;
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  pool_close(pool);
  CHECK(home_open(&options, &pool));
  CHECK(oap_pool_origin(pool)->chunks == 1 && oap_pool_origin(pool)->refused == 2);
  check_held(pool, 1);
  pool_close(pool);
}

static void write_at(const char *path, const void *bytes, size_t length, uint64_t at) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0 && pwrite(fd, bytes, length, (off_t)at) == (ssize_t)length && close(fd) == 0);
}

/* A chunk whose bytes have changed is a miss at its first pin, and can be loaded again. */
static void changed_bytes_are_found(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  put(pool, 8);
  oap_key key = key_of(3);
  oap_chunk chunk;
  CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
  uint64_t position = chunk.piece[0].position + 777;
  unsigned char other = (unsigned char)~chunk.piece[0].data[777];
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  char data[600];
  snprintf(data, sizeof(data), "%s", home_file(pool, ".data"));
  pool_close(pool);
  write_at(data, &other, 1, position);
  CHECK(home_open(&options, &pool) && oap_pool_origin(pool)->chunks == 8);
  CHECK(oap_pool_is_held(pool, &key));
  CHECK(oap_pool_pin_unused(pool, &key, &chunk) == -ENOENT && !oap_pool_is_held(pool, &key));
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.damaged == 1 && stats.chunks == 7 && stats.pinned_bytes == 0);
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  check_held(pool, 8);
  pool_close(pool);
}

/* Opens a pool beside one that it cannot take over. */
static void is_not_taken(const oap_options *options, const char *why) {
  oap_pool *pool;
  CHECK(!home_open(options, &pool));
  const char *said = oap_pool_origin(pool)->unusable;
  CHECK(why == NULL ? said == NULL : said != NULL && strstr(said, why) != NULL);
  pool_close(pool);
}

static void others_are_left_alone(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  CHECK(!home_open(&options, &pool));
  put(pool, 5);
  is_not_taken(&options, NULL); /* in use, which is no fault; it leaves one of its own */
  CHECK(home_count(".meta") == 2);
  pool_close(pool);

  home_clear();
  leave(&options, 5);
  oap_options larger = home_options(2 * CAPACITY);
  is_not_taken(&larger, "size");
  oap_options other = options;
  other.policy = "lru";
  is_not_taken(&other, "policy");
  other = options;
  other.shards = 2;
  is_not_taken(&other, "size");
  CHECK(home_open(&options, &pool));
  check_held(pool, 5);
  pool_close(pool);
}

/* Changes some bytes of the file with that ending of the only pool there, or its length. */
static void damage(const char *ending, const void *bytes, size_t length, uint64_t at,
                   const char *why) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  put(pool, 5);
  char path[600];
  snprintf(path, sizeof(path), "%s", home_file(pool, ending));
  pool_close(pool);
  if (bytes != NULL) {
    write_at(path, bytes, length, at);
  } else {
    CHECK(truncate(path, (off_t)at) == 0);
  }
  is_not_taken(&options, why);
}

static void damaged_files_are_left_alone(void) {
  static const char other[] = "other";
  uint64_t odd = 4097;
  damage(".meta", other, 5, 0, "version");
  damage(".meta", other, 5, offsetof(oap_home_header, shape.library), "damaged");
  damage(".meta", other, 5, offsetof(oap_home_header, shape.shards), "damaged");
  damage(".meta", &odd, sizeof(odd), offsetof(oap_home_header, part), "damaged");
  damage(".meta", NULL, 0, 5, "damaged");
  damage(".meta", NULL, 0, 100000, "damaged");
  damage(".data", NULL, 0, CAPACITY, "chunks");
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  CHECK(unlink(home_file(pool, ".data")) == 0);
  pool_close(pool);
  is_not_taken(&options, "chunks");
}

/* Neither what others may write nor a link is opened. */
static void rights_are_checked(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  char path[600], moved[620];
  home_clear();
  home_open(&options, &pool);
  put(pool, 5);
  snprintf(path, sizeof(path), "%s", home_file(pool, ".meta"));
  struct stat status;
  CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
  CHECK(stat(home_file(pool, ".data"), &status) == 0 && (status.st_mode & 0777) == 0600);
  pool_close(pool);
  CHECK(chmod(path, 0644) == 0);
  is_not_taken(&options, NULL);
  CHECK(chmod(path, 0600) == 0);

  home_clear();
  home_open(&options, &pool);
  snprintf(path, sizeof(path), "%s", home_file(pool, ".meta"));
  pool_close(pool);
  snprintf(moved, sizeof(moved), "%s.moved", path);
  CHECK(rename(path, moved) == 0 && symlink(moved, path) == 0);
  is_not_taken(&options, NULL);
  home_clear();

  snprintf(path, sizeof(path), "%s/oap-%u", home_directory(), (unsigned)geteuid());
  CHECK(chmod(path, 0755) == 0);
  CHECK(oap_pool_open(&options, &pool) == -EPERM);
  CHECK(chmod(path, 0700) == 0);
  if (geteuid() == 0) {
    CHECK(chown(path, 12345, 12345) == 0);
    CHECK(oap_pool_open(&options, &pool) == -EPERM);
    CHECK(chown(path, 0, 0) == 0);
  }
  CHECK(rmdir(path) == 0 && symlink(home_directory(), path) == 0);
  int error = oap_pool_open(&options, &pool);
  CHECK(error == -EPERM || error == -ENOTDIR);
  CHECK(unlink(path) == 0);
  options.medium = OAP_DRAM;
  options.path_count = 0;
  CHECK(oap_pool_open(&options, &pool) == -EINVAL);
}

/* What nobody has used for long goes, whatever it is; what is in use stays. */
static void old_ones_go(void) {
  oap_options options = home_options(CAPACITY);
  oap_options other = home_options(2 * CAPACITY);
  oap_pool *pool, *second;
  home_clear();
  leave(&other, 3);
  home_open(&options, &pool);
  char meta[600];
  snprintf(meta, sizeof(meta), "%s", home_file(pool, ".meta"));
  struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  CHECK(utimensat(AT_FDCWD, meta, old, 0) == 0);
  other.keep_seconds = 0;
  CHECK(home_open(&other, &second)); /* it fits, so it stays, too */
  CHECK(home_count(".meta") == 2);
  pool_close(second);
  pool_close(pool);
  other.capacity *= 2;
  CHECK(!home_open(&other, &second));
  CHECK(home_count(".meta") == 1 && home_count(".data") == 1);
  pool_close(second);
}

/* More slots than the file has room for at first. */
static void many_slots(void) {
  enum { MANY = 40000 };
  oap_options options = home_options(UINT64_C(256) << 20);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  for (uint32_t i = 0; i < MANY; i++) {
    oap_key key = key_numbered(i, 0, 0);
    CHECK(chunk_put(pool, &key, 100) == 0);
  }
  pool_close(pool);
  CHECK(home_open(&options, &pool) && oap_pool_origin(pool)->chunks == MANY);
  pool_close(pool);
}

/* Two paths, each with its file. */
static void several_paths(void) {
  char second[300];
  oap_options options = home_options(CAPACITY);
  snprintf(second, sizeof(second), "%s/second", home_directory());
  CHECK(mkdir(second, 0700) == 0);
  const char *paths[] = {home_directory(), second};
  options.paths = paths;
  options.path_count = 2;
  oap_pool *pool;
  home_clear();
  leave(&options, 30);
  CHECK(home_open(&options, &pool) && oap_pool_origin(pool)->chunks == 30);
  check_held(pool, 30);
  char data[900];
  snprintf(data, sizeof(data), "%s/oap-%u%s.data", second, (unsigned)geteuid(),
           strrchr(oap_pool_origin(pool)->home, '/'));
  pool_close(pool);
  CHECK(unlink(data) == 0);
  is_not_taken(&options, "chunks");
  snprintf(data, sizeof(data), "rm -r '%s'", second);
  CHECK(system(data) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  goes_on();
  batches_are_dropped();
  changed_bytes_are_found();
  others_are_left_alone();
  damaged_files_are_left_alone();
  rights_are_checked();
  old_ones_go();
  many_slots();
  several_paths();
  return 0;
}
