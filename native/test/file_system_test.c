/* What file systems and disks may answer to a pool in a file, on machines that are not at hand: the
 * calls go through here, and are answered as kernels, full disks and failing ones do. */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define ZFS_MAGIC 0x2fc12fc1

int __real_fallocate(int file, int mode, off_t start, off_t bytes);
int __wrap_fallocate(int file, int mode, off_t start, off_t bytes);
int __real_posix_fallocate(int file, off_t start, off_t bytes);
int __wrap_posix_fallocate(int file, off_t start, off_t bytes);
int __real_fstatfs(int file, struct statfs *system);
int __wrap_fstatfs(int file, struct statfs *system);
int __wrap_ioctl(int file, unsigned long request, ...);
int __wrap_sync_file_range(int file, off_t start, off_t bytes, unsigned flags);
int __wrap_msync(void *at, size_t bytes, int flags);

static int open_file(uint64_t capacity, oap_pool **pool) {
  static const char *shm = "/dev/shm";
  oap_options options = {
      .capacity = capacity, .medium = OAP_FILE, .paths = &shm, .path_count = 1, .shards = 1};
  return oap_pool_open(&options, pool);
}

static int opens(void) {
  oap_pool *pool;
  int error = open_file(4 * MIB, &pool);
  if (error == 0) {
    pool_close(pool);
  }
  return error;
}

/* ---- File systems: of which kind, and what they do to a file ---- */

static long kind; /* of the file system, if not its own; then what follows counts */
static bool can_mark;
static unsigned marked; /* empty files so far */

int __wrap_fstatfs(int file, struct statfs *system) {
  int result = __real_fstatfs(file, system);
  if (kind != 0) {
    system->f_type = kind;
  }
  return result;
}

int __wrap_ioctl(int file, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  int *flags = va_arg(arguments, int *);
  va_end(arguments);
  CHECK(file >= 0 && (kind == BTRFS_SUPER_MAGIC ||
                      kind == OVERLAYFS_SUPER_MAGIC)); /* others may refuse, or know no such mark */
  if (request == FS_IOC_GETFLAGS) {
    *flags = FS_NOATIME_FL;
    return 0;
  }
  CHECK(request == FS_IOC_SETFLAGS && *flags == (FS_NOATIME_FL | FS_NOCOW_FL));
  struct stat status;
  CHECK(fstat(file, &status) == 0);
  marked += can_mark && status.st_size == 0; /* for others the mark says nothing */
  errno = EINVAL;
  return can_mark ? 0 : -1;
}

/* Space that is reserved is kept only where a file is written in place. */
static void copies_on_write(void) {
  kind = BTRFS_SUPER_MAGIC;
  can_mark = true;
  CHECK(opens() == 0 && marked == 1);
  kind = OVERLAYFS_SUPER_MAGIC; /* over whichever */
  CHECK(opens() == 0 && marked == 2);
  can_mark = false;
  CHECK(opens() == 0);
  kind = BTRFS_SUPER_MAGIC;
  CHECK(opens() == -EOPNOTSUPP);
  kind = ZFS_MAGIC;
  CHECK(opens() == -EOPNOTSUPP);
  kind = 0;
}

/* Slots that outlive the process are written in place just as chunks are. */
static void homes_that_copy_on_write(void) {
  oap_options options = home_options(4 * MIB);
  oap_pool *pool;
  kind = BTRFS_SUPER_MAGIC;
  can_mark = true;
  marked = 0;
  CHECK(!home_open(&options, &pool) && marked == 2);
  pool_close(pool);
  CHECK(home_open(&options, &pool) && marked == 2);
  pool_close(pool);
  home_clear();
  can_mark = false;
  CHECK(oap_pool_open(&options, &pool) == -EOPNOTSUPP);
  CHECK(home_count(".meta") == 0 && home_count(".data") == 0);
  kind = 0;
}

/* ---- Disks that lose what is written ---- */

static _Atomic bool disk_fails; /* at the next write-back */
static _Atomic unsigned times_asked;

int __wrap_sync_file_range(int file, off_t start, off_t bytes, unsigned flags) {
  struct stat status;
  CHECK(fstat(file, &status) == 0);
  CHECK(kind != OVERLAYFS_SUPER_MAGIC && flags == SYNC_FILE_RANGE_WAIT_BEFORE && bytes > 0 &&
        start >= status.st_size);
  atomic_fetch_add(&times_asked, 1);
  errno = EIO;
  return atomic_exchange(&disk_fails, false) ? -1 : 0; /* the kernel tells once */
}

/* What tells of the file that is mapped, where that is not the one that was opened. */
int __wrap_msync(void *at, size_t bytes, int flags) {
  CHECK(kind == OVERLAYFS_SUPER_MAGIC && at != NULL && bytes > 0 && flags == MS_SYNC);
  errno = EIO;
  return atomic_exchange(&disk_fails, false) ? -1 : 0;
}

static void wait_until_dropped(oap_pool *pool, const oap_key *key) {
  unsigned waited = 0;
  while (oap_pool_is_held(pool, key)) {
    CHECK(++waited < 10000);
    usleep(1000);
  }
}

static void overlays_over_them(void) {
  kind = OVERLAYFS_SUPER_MAGIC;
  oap_pool *pool;
  CHECK(open_file(4 * MIB, &pool) == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, MIB) == 0);
  atomic_store(&disk_fails, true);
  wait_until_dropped(pool, &key);
  pool_close(pool);
  kind = 0;
}

static void disks_that_lose_writes(void) {
  kind = EXT4_SUPER_MAGIC;
  oap_pool *pool;
  CHECK(open_file(4 * MIB, &pool) == 0);
  oap_key key[] = {key_numbered(1, 0, 0), key_numbered(1, 0, 1), key_numbered(1, 0, 2)};
  oap_chunk pinned;
  CHECK(chunk_put(pool, &key[0], MIB) == 0 && chunk_put(pool, &key[1], MIB) == 0);
  CHECK(oap_pool_pin(pool, &key[1], &pinned) == 0);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.lost_writes == 0);
  atomic_store(&disk_fails, true);
  wait_until_dropped(pool, &key[0]);
  wait_until_dropped(pool, &key[1]);
  CHECK(oap_pool_reserve(pool, &key[2], MIB, &pinned) == -ESHUTDOWN);
  CHECK(oap_pool_reserve_free(pool, &key[2], MIB, &pinned) == -ESHUTDOWN);
  CHECK(chunk_is_right(&key[1], &pinned) && oap_pool_unpin(pool, &pinned) == 0);
  oap_pool_stats(pool, &stats);
  CHECK(stats.lost_writes == 1 && stats.chunks == 0 && stats.used_bytes == 0);
  CHECK(oap_pool_resize(pool, 8 * MIB) == 0 && oap_pool_retire(pool) == 0);
  unsigned asked = atomic_load(&times_asked);
  usleep(300000);
  CHECK(asked == atomic_load(&times_asked)); /* nobody asks of a file that is closed */
  pool_close(pool);
  kind = 0;
  atomic_store(&times_asked, 0);
  CHECK(open_file(4 * MIB, &pool) == 0);
  usleep(300000);
  CHECK(atomic_load(&times_asked) == 0); /* a tmpfs has no disk */
  pool_close(pool);
}

/* ---- Files: which pages of the pool's have disk space ---- */

#define FILE_PAGE UINT64_C(4096)
#define LONGEST (4 * MIB) /* what a signal leaves time for */
static bool reserved[512 * MIB / FILE_PAGE];
static unsigned calls;
static oap_pool *unpin_from; /* once the range where it lies is reserved, or any is given back: */
static oap_chunk unpinned;

static void set_reserved(off_t start, off_t bytes, bool value) {
  for (uint64_t i = (uint64_t)start / FILE_PAGE; i < (uint64_t)(start + bytes) / FILE_PAGE; i++) {
    reserved[i] = value;
  }
}

static void unpin_now(void) {
  if (unpin_from != NULL) {
    oap_pool *pool = unpin_from;
    unpin_from = NULL;
    CHECK(oap_pool_unpin(pool, &unpinned) == 0);
  }
}

int __wrap_posix_fallocate(int file, off_t start, off_t bytes) {
  if (calls++ % 2 == 0 || (uint64_t)bytes > LONGEST) {
    return EINTR; /* as a profiler's signals have it */
  }
  CHECK(kind != BTRFS_SUPER_MAGIC || marked > 0);
  int error = __real_posix_fallocate(file, start, bytes);
  set_reserved(start, bytes, true);
  if ((uint64_t)(start + bytes) >= unpinned.piece[0].position + unpinned.bytes) {
    unpin_now();
  }
  return error;
}

int __wrap_fallocate(int file, int mode, off_t start, off_t bytes) {
  CHECK((mode & FALLOC_FL_PUNCH_HOLE) != 0);
  int error = __real_fallocate(file, mode, start, bytes);
  set_reserved(start, bytes, false);
  unpin_now();
  return error;
}

static uint64_t reserved_bytes(void) {
  uint64_t pages = 0;
  for (uint64_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
    pages += reserved[i];
  }
  return pages * FILE_PAGE;
}

/* A pool of 128 MiB, full of chunks of 4 MiB; the one that lies at 96 MiB is left pinned. */
static oap_pool *open_full_file(void) {
  memset(reserved, 0, sizeof(reserved));
  unpin_from = NULL;
  oap_pool *pool;
  CHECK(open_file(128 * MIB, &pool) == 0);
  CHECK(reserved_bytes() == 128 * MIB);
  for (uint32_t i = 0; i < 32; i++) {
    oap_key key = key_numbered(1, i, 0);
    oap_chunk chunk;
    CHECK(oap_pool_reserve(pool, &key, 4 * MIB, &chunk) == 0);
    CHECK(oap_pool_publish(pool, &chunk) == 0);
    if (chunk.piece[0].position == 96 * MIB) {
      unpinned = chunk;
    } else {
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
    }
  }
  CHECK(unpinned.piece[0].position == 96 * MIB);
  return pool;
}

/* The last pin of a chunk that lies above the limit goes while the pool grows over it. */
static void unpinned_while_it_grows(void) {
  oap_pool *pool = open_full_file();
  CHECK(oap_pool_resize(pool, 32 * MIB) == 0);
  CHECK(reserved_bytes() == 36 * MIB);
  unpin_from = pool;
  CHECK(oap_pool_resize(pool, 256 * MIB) == 0);
  CHECK(unpin_from == NULL);
  CHECK(reserved_bytes() == 256 * MIB);
  pool_close(pool);
}

/* The last pin goes while the pool shrinks, between what is before the chunk and what is behind it.
 */
static void unpinned_while_it_shrinks(void) {
  oap_pool *pool = open_full_file();
  unpin_from = pool;
  CHECK(oap_pool_resize(pool, 32 * MIB) == 0);
  CHECK(unpin_from == NULL);
  CHECK(reserved_bytes() == 32 * MIB);
  pool_close(pool);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  unpinned_while_it_grows();
  unpinned_while_it_shrinks();
  copies_on_write();
  homes_that_copy_on_write();
  disks_that_lose_writes();
  overlays_over_them();
  return 0;
}
