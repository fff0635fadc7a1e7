/* What comes between, or goes wrong, beside a pool that outlives its process. */
#include "home.h"
#include "pool/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)
#define BYTES UINT64_C(30000)

static oap_key key_of(uint32_t i) { return key_numbered(1, i, 0); }

static void put(oap_pool *pool, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    oap_key key = key_of(i);
    CHECK(chunk_put(pool, &key, BYTES) == 0);
  }
}

/* ---- A pin while the pool is retired ---- */

void __real_oap_index_remove(oap_index *index, uint32_t slot);
void __wrap_oap_index_remove(oap_index *index, uint32_t slot);

static oap_pool *pin_in; /* once the next chunk is removed */
static oap_chunk pinned;

void __wrap_oap_index_remove(oap_index *index, uint32_t slot) {
  oap_pool *pool = pin_in;
  pin_in = NULL;
  oap_key key = key_of(1);
  CHECK(pool == NULL || oap_pool_pin(pool, &key, &pinned) == 0);
  __real_oap_index_remove(index, slot);
}

/* The pool is in use, but has left its file. It goes on, and can be retired again. */
static void pinned_while_it_retires(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool, *next;
  home_clear();
  home_open(&options, &pool);
  put(pool, 0, 5);
  pin_in = pool;
  CHECK(oap_pool_retire(pool) == -EBUSY && pin_in == NULL);
  oap_key key = key_of(1);
  CHECK(chunk_is_right(&key, &pinned) && oap_pool_unpin(pool, &pinned) == 0);
  CHECK_VALID(pool);
  put(pool, 5, 8);
  oap_chunk chunk;
  key = key_of(6);
  CHECK(oap_pool_pin(pool, &key, &chunk) == 0 && oap_pool_retire(pool) == -EBUSY);
  CHECK(chunk_is_right(&key, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
  CHECK(oap_pool_retire(pool) == 0);
  CHECK_VALID(pool);
  CHECK(home_open(&options, &next));
  for (uint32_t i = 0; i < 8; i++) {
    key = key_of(i);
    if (oap_pool_pin(next, &key, &chunk) == 0) { /* as it was left, but for what lies there now */
      CHECK(i < 5 && chunk_is_right(&key, &chunk) && oap_pool_unpin(next, &chunk) == 0);
    }
  }
  CHECK(oap_pool_close(pool) == 0);
  pool_close(next);
}

/* ---- A disk that has no room for more slots ---- */

int __real_posix_fallocate(int file, off_t start, off_t bytes);
int __wrap_posix_fallocate(int file, off_t start, off_t bytes);

static bool is_full;
static uint64_t refused;

int __wrap_posix_fallocate(int file, off_t start, off_t bytes) {
  refused += is_full;
  return is_full ? ENOSPC : __real_posix_fallocate(file, start, bytes);
}

/* The disk is asked once a second, not by every reservation; and slots come when it has room. */
static void disk_is_full(void) {
  enum { MANY = 20000 };
  oap_options options = home_options(UINT64_C(256) << 20);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  _Atomic uint32_t *ready = pool->shards[0].kept.ready;
  uint32_t before = atomic_load(ready);
  CHECK(before < MANY);
  is_full = true;
  time_t start = time(NULL);
  uint32_t i = 0;
  for (; i < MANY; i++) {
    oap_key key = key_numbered(2, i, 0);
    CHECK(chunk_put(pool, &key, 100) == 0);
  }
  CHECK(refused > 0 && refused <= 2 + (uint64_t)(time(NULL) - start));
  CHECK(atomic_load(ready) == before);
  is_full = false;
  for (; atomic_load(ready) == before; i++) {
    CHECK(i < 2 * MANY);
    oap_key key = key_numbered(2, i, 0);
    CHECK(chunk_put(pool, &key, 100) == 0);
    usleep(1000);
  }
  pool_close(pool);
}

/* ---- A disk that loses what is written of slots ---- */

int __real_fstatfs(int file, struct statfs *system);
int __wrap_fstatfs(int file, struct statfs *system);
int __wrap_sync_file_range(int file, off_t start, off_t bytes, unsigned flags);

static bool is_on_disk;
static _Atomic ino_t failing; /* at the next write-back */

int __wrap_fstatfs(int file, struct statfs *system) {
  int result = __real_fstatfs(file, system);
  system->f_type = is_on_disk ? EXT4_SUPER_MAGIC : system->f_type;
  return result;
}

int __wrap_sync_file_range(int file, off_t start, off_t bytes, unsigned flags) {
  struct stat status;
  CHECK(is_on_disk && bytes > 0 && flags == SYNC_FILE_RANGE_WAIT_BEFORE);
  CHECK(fstat(file, &status) == 0 && start >= status.st_size);
  ino_t expected = status.st_ino;
  errno = EIO;
  return atomic_compare_exchange_strong(&failing, &expected, 0) ? -1 : 0; /* told once */
}

/* Slots may be old, or led nowhere: nobody looks at them, and the pool cannot be closed. */
static void slots_are_lost(void) {
  static oap_pool *pool; /* until the process ends */
  static oap_chunk held[2];
  oap_options options = home_options(CAPACITY);
  home_clear();
  is_on_disk = true;
  home_open(&options, &pool);
  put(pool, 0, 5);
  oap_key key[] = {key_of(0), key_of(1), key_of(10)};
  CHECK(oap_pool_pin(pool, &key[1], &held[0]) == 0);
  CHECK(oap_pool_reserve(pool, &key[2], BYTES, &held[1]) == 0);
  uint64_t version = oap_pool_content_version(pool);
  struct stat meta;
  CHECK(fstat(pool->home.meta, &meta) == 0);
  atomic_store(&failing, meta.st_ino);
  oap_stats stats = {.chunks = 5};
  for (unsigned waited = 0; oap_pool_is_held(pool, &key[0]) || stats.chunks > 0; waited++) {
    CHECK(waited < 10000);
    usleep(1000);
    oap_pool_stats(pool, &stats);
  }
  for (uint32_t i = 1; i <= 6; i++) {
    memset((void *)&pool->shards[0].slots[i], 0xff, sizeof(oap_slot));
  }
  oap_chunk chunk;
  CHECK(oap_pool_pin(pool, &key[0], &chunk) == -ENOENT);
  CHECK(oap_pool_pin_unused(pool, &key[0], &chunk) == -ENOENT);
  CHECK(oap_pool_reserve(pool, &key[0], BYTES, &chunk) == -ESHUTDOWN);
  CHECK(oap_pool_drop(pool, &key[0]) == -ENOENT && oap_pool_clear(pool) == 0);
  CHECK(oap_pool_drop_file(pool, key[0].file_high, key[0].file_low) == 0);
  oap_held listed[8];
  uint64_t now;
  CHECK(oap_pool_snapshot(pool, listed, 8, &now) == 0 && now != version);
  CHECK(chunk_is_right(&key[1], &held[0]) && oap_pool_unpin(pool, &held[0]) == 0);
  chunk_fill(&key[2], &held[1]);
  CHECK(oap_pool_publish(pool, &held[1]) == 0 && oap_pool_unpin(pool, &held[1]) == 0);
  CHECK(oap_pool_resize(pool, 2 * CAPACITY) == -ESHUTDOWN);
  CHECK(oap_pool_retire(pool) == -EBUSY && oap_pool_close(pool) == -EBUSY);
  oap_pool_stats(pool, &stats);
  CHECK(stats.lost_writes == 1 && stats.chunks == 0);
}

/* ---- A disk that does not give what it has ---- */

ssize_t __real_pread(int file, void *to, size_t bytes, off_t start);
ssize_t __wrap_pread(int file, void *to, size_t bytes, off_t start);

static off_t unreadable = -1; /* byte of the files; -1: none */

ssize_t __wrap_pread(int file, void *to, size_t bytes, off_t start) {
  errno = EIO;
  return start <= unreadable && unreadable < start + (off_t)bytes
             ? -1
             : __real_pread(file, to, bytes, start);
}

/* Slots and sketches are read before they are mapped. */
static void tables_cannot_be_read(void) {
  enum { SHARDS = 2 };
  oap_options options = home_options(CAPACITY);
  options.shards = SHARDS;
  home_clear();
  oap_pool *pool;
  home_open(&options, &pool);
  put(pool, 0, 5);
  const oap_home_header *header = pool->home.header;
  off_t second = (off_t)(OAP_HOME_HEADER + header->shape.kept_bytes);
  off_t places[] = {second, second + (off_t)(atomic_load(&header->ready[1]) * sizeof(oap_slot)),
                    second + (off_t)header->shape.kept_bytes - 1};
  pool_close(pool);
  for (int i = 0; i < 3; i++) {
    unreadable = places[i];
    CHECK(!home_open(&options, &pool));
    CHECK(strstr(oap_pool_origin(pool)->unusable, "damaged") != NULL);
    unlink(home_file(pool, ".meta"));
    pool_close(pool);
  }
  unreadable = -1;
  CHECK(home_open(&options, &pool) && oap_pool_origin(pool)->chunks == 5);
  pool_close(pool);
}

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Whether the kernel says what cannot be read before it is read: Linux 5.14. */
static bool kernel_tells(void) {
  static _Alignas(1 << 16) char page[1 << 16];
  return madvise(page, sizeof(page), MADV_POPULATE_READ) == 0;
}

/* A file that has been cut answers as a disk that fails does: by SIGBUS. */
static void pin_what_cannot_be_read(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  CHECK(home_open(&options, &pool));
  oap_key key[] = {key_of(0), key_of(1)};
  oap_chunk chunk, held;
  CHECK(oap_pool_pin(pool, &key[0], &held) == 0 && oap_pool_is_readable(pool, &held) == 0);
  CHECK(truncate(home_file(pool, ".data"), 0) == 0);
  CHECK(oap_pool_is_readable(pool, &held) == -EIO);
  CHECK(oap_pool_pin(pool, &key[1], &chunk) == -ENOENT && !oap_pool_is_held(pool, &key[1]));
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.damaged == 1 && stats.pinned_chunks == 1);
  CHECK(oap_pool_unpin(pool, &held) == 0);
  CHECK(oap_pool_is_readable(pool, &held) == -EINVAL);
}

/* Chunks that the disk does not give are missed, and the process lives. */
static void chunks_cannot_be_read(void) {
  oap_options options = home_options(CAPACITY);
  oap_pool *pool;
  home_clear();
  home_open(&options, &pool);
  put(pool, 0, 2);
  pool_close(pool);
  if (!kernel_tells()) {
    return;
  }
  pid_t child = check_fork();
  if (child == 0) {
    pin_what_cannot_be_read();
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  pinned_while_it_retires();
  disk_is_full();
  tables_cannot_be_read();
  chunks_cannot_be_read();
  slots_are_lost();
  return 0;
}
