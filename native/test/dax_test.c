/* Pools on DAX file systems and DAX devices, on machines that have none: the calls go through here,
 * and are answered as kernels do that have persistent memory, of which some is bad. dev/pool-vm has
 * the real thing. */
#include "check.h"
#include "pool/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_ioctl(int file, unsigned long request, ...);
int __real_statx(int at, const char *path, int flags, unsigned wanted, struct statx *status);
int __wrap_statx(int at, const char *path, int flags, unsigned wanted, struct statx *status);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_fstat(int file, struct stat *status);
int __wrap_fstat(int file, struct stat *status);
ssize_t __real_readlink(const char *path, char *target, size_t room);
ssize_t __wrap_readlink(const char *path, char *target, size_t room);

static int open_on(enum oap_medium medium, const char *path, uint64_t capacity, bool erase,
                   oap_pool **pool) {
  oap_options options = {.capacity = capacity,
                         .medium = medium,
                         .paths = &path,
                         .path_count = 1,
                         .erase = erase,
                         .shards = 1};
  return oap_pool_open(&options, pool);
}

static int opens_on(enum oap_medium medium, const char *path, uint64_t capacity) {
  oap_pool *pool;
  int error = open_on(medium, path, capacity, false, &pool);
  if (error == 0) {
    pool_close(pool);
  }
  return error;
}

/* ---- The kernel's files: some have other contents ---- */

static struct { const char *path, *content; } kernel_files[8];

FILE *__wrap_fopen(const char *path, const char *mode) {
  for (unsigned i = 0; i < sizeof(kernel_files) / sizeof(kernel_files[0]); i++) {
    if (kernel_files[i].path != NULL && strcmp(kernel_files[i].path, path) == 0) {
      return check_file_of(kernel_files[i].content);
    }
  }
  return __real_fopen(path, mode);
}

/* ---- DAX file systems: how kernels tell of them ---- */

static enum { TELLS_NOTHING, TELLS_DAX, TELLS_NO_DAX } tells;
static bool grants_sync;     /* MAP_SYNC */
static unsigned synchronous; /* mappings that were granted it, of more than a page */

int __wrap_statx(int at, const char *path, int flags, unsigned wanted, struct statx *status) {
  int result = __real_statx(at, path, flags, wanted, status);
  status->stx_attributes &= ~(uint64_t)STATX_ATTR_DAX;
  status->stx_attributes_mask &= ~(uint64_t)STATX_ATTR_DAX;
  status->stx_attributes |= tells == TELLS_DAX ? STATX_ATTR_DAX : 0;
  status->stx_attributes_mask |= tells == TELLS_NO_DAX ? STATX_ATTR_DAX : 0;
  return result;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_SYNC) != 0) {
    if (!grants_sync) {
      errno = EOPNOTSUPP;
      return MAP_FAILED;
    }
    synchronous += bytes > (size_t)sysconf(_SC_PAGESIZE);
    flags = (flags & ~(MAP_SYNC | MAP_SHARED_VALIDATE)) | MAP_SHARED;
  }
  return __real_mmap(at, bytes, protection, flags, file, offset);
}

/* Faults that wait for the journal would be of no use to a file without a name. */
static void kernels_and_dax(void) {
  tells = TELLS_DAX;
  grants_sync = true;
  CHECK(opens_on(OAP_FSDAX, "/dev/shm", 4 * MIB) == 0);
  CHECK(synchronous == 0);
  tells = TELLS_NO_DAX;
  CHECK(opens_on(OAP_FSDAX, "/dev/shm", 4 * MIB) == -EOPNOTSUPP);
  tells = TELLS_NOTHING; /* before Linux 5.8 */
  CHECK(opens_on(OAP_FSDAX, "/dev/shm", 4 * MIB) == 0);
  CHECK(synchronous == 0);
  grants_sync = false;
  CHECK(opens_on(OAP_FSDAX, "/dev/shm", 4 * MIB) == -EOPNOTSUPP);
}

/* ---- Bad blocks under a DAX file system: the file lies on the disk in one piece ---- */

#define ON_DISK (1024 * MIB)

int __wrap_ioctl(int file, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  struct fiemap *map = va_arg(arguments, struct fiemap *);
  va_end(arguments);
  CHECK(file >= 0 && request == FS_IOC_FIEMAP && map->fm_extent_count > 0);
  map->fm_mapped_extents = 1;
  map->fm_extents[0] = (struct fiemap_extent){.fe_logical = map->fm_start,
                                              .fe_physical = map->fm_start + ON_DISK,
                                              .fe_length = map->fm_length,
                                              .fe_flags = FIEMAP_EXTENT_LAST};
  return 0;
}

/* What of a range of addresses is mapped to a part of a file, by /proc/self/maps. */
static uint64_t mapped_to(const unsigned char *data, uint64_t bytes, uint64_t from, uint64_t to) {
  FILE *maps = __real_fopen("/proc/self/maps", "re");
  CHECK(maps != NULL);
  char line[512];
  uint64_t found = 0;
  while (fgets(line, sizeof(line), maps) != NULL) {
    unsigned long long start, end, offset;
    CHECK(sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3);
    uint64_t first = start > (uintptr_t)data ? start : (uintptr_t)data;
    uint64_t last = end < (uintptr_t)data + bytes ? end : (uintptr_t)data + bytes;
    if (first < last) {
      uint64_t file_start = offset + (first - start);
      uint64_t file_end = file_start + (last - first);
      uint64_t low = file_start > from ? file_start : from;
      uint64_t high = file_end < to ? file_end : to;
      found += low < high ? high - low : 0;
    }
  }
  CHECK(fclose(maps) == 0);
  return found;
}

static oap_pool *open_among_bad_blocks(const char *list) {
  static char disk[64], partition[64], start[64];
  struct stat status;
  CHECK(stat("/dev/shm", &status) == 0);
  unsigned high = major(status.st_dev), low = minor(status.st_dev);
  snprintf(disk, sizeof(disk), "/sys/dev/block/%u:%u/badblocks", high, low);
  snprintf(partition, sizeof(partition), "/sys/dev/block/%u:%u/../badblocks", high, low);
  snprintf(start, sizeof(start), "/sys/dev/block/%u:%u/start", high, low);
  bool in_partition = list[0] == 'p';
  kernel_files[0].path = in_partition ? partition : disk;
  kernel_files[0].content = list + (in_partition ? 1 : 0);
  kernel_files[1].path = in_partition ? start : NULL;
  kernel_files[1].content = "2048\n"; /* 1 MiB */
  oap_pool *pool = NULL;
  int error = open_on(OAP_FSDAX, "/dev/shm", 32 * MIB, false, &pool);
  CHECK(error == 0 || error == -EIO);
  return pool;
}

/* A part with bad blocks is left to itself, also where it would replace another. */
static void bad_blocks_under_files(void) {
  tells = TELLS_DAX;
  /* At 5 MiB of the file, and at 257, where the first replacement would be; the same list as the
   * disk of a partition has it. */
  const char *lists[] = {"2107392 8\n2623488 1\n", "p2109440 8\n2625536 1\n"};
  for (int i = 0; i < 2; i++) {
    oap_pool *pool = open_among_bad_blocks(lists[i]);
    oap_key key = key_numbered(1, 0, 0);
    oap_chunk chunk;
    CHECK(oap_pool_reserve(pool, &key, 32 * MIB, &chunk) == 0 && chunk.pieces == 1);
    unsigned char *data = chunk.piece[0].data;
    CHECK(mapped_to(data, 32 * MIB, 0, UINT64_MAX) == 32 * MIB);
    CHECK(mapped_to(data, 32 * MIB, 5 * MIB, 5 * MIB + 4096) == 0);
    CHECK(mapped_to(data, 32 * MIB, 257 * MIB, 257 * MIB + 512) == 0);
    CHECK(mapped_to(data, 32 * MIB, 260 * MIB, 264 * MIB) == 4 * MIB);
    CHECK(check_mapping_has_flag(data + 5 * MIB, " dd"));
    chunk_fill(&key, &chunk);
    CHECK(chunk_is_right(&key, &chunk));
    CHECK(oap_pool_publish(pool, &chunk) == 0 && oap_pool_resize(pool, MIB) == 0);
    CHECK(oap_pool_resize(pool, 30 * MIB) == 0 && oap_pool_resize(pool, 64 * MIB) == 0);
    CHECK(chunk_is_right(&key, &chunk)); /* dropped, it is read on */
    CHECK(mapped_to(data, 32 * MIB, 260 * MIB, 264 * MIB) == 4 * MIB);
    CHECK(oap_pool_unpin(pool, &chunk) == 0 && oap_pool_resize(pool, MIB) == 0);
    /* What is bad stays the file's: the part, where it would have been, and where it is. */
    struct stat status;
    CHECK(__real_fstat(pool->arenas[0].file, &status) == 0);
    CHECK((uint64_t)status.st_blocks * 512 == 13 * MIB);
    pool_close(pool);
  }
  CHECK(open_among_bad_blocks("0 9000000000\n") == NULL); /* nothing is good */
  memset(kernel_files, 0, sizeof(kernel_files));
}

/* ---- DAX devices: a file that answers like one ---- */

#define DEVICE_BYTES (32 * MIB)

static char device[] = "/tmp/oap-device-XXXXXX";
static bool is_device; /* what fstat is asked about */

int __wrap_fstat(int file, struct stat *status) {
  int result = __real_fstat(file, status);
  if (is_device) {
    status->st_mode = S_IFCHR | 0600;
    status->st_rdev = makedev(252, 7);
  }
  return result;
}

ssize_t __wrap_readlink(const char *path, char *target, size_t room) {
  if (strcmp(path, "/sys/dev/char/252:7/subsystem") != 0) {
    return __real_readlink(path, target, room);
  }
  return snprintf(target, room, "../../../bus/dax");
}

/* What a file has from one byte up to another: this byte throughout, or not. */
static bool has_only(int file, unsigned char byte, uint64_t from, uint64_t to) {
  unsigned char page[4096];
  for (uint64_t at = from; at < to; at += sizeof(page)) {
    CHECK(pread(file, page, sizeof(page), (off_t)at) == (ssize_t)sizeof(page));
    for (size_t i = 0; i < sizeof(page); i++) {
      if (page[i] != byte) {
        return false;
      }
    }
  }
  return true;
}

static void fill(int file, unsigned char byte) {
  unsigned char page[4096];
  memset(page, byte, sizeof(page));
  for (uint64_t at = 0; at < DEVICE_BYTES; at += sizeof(page)) {
    CHECK(pwrite(file, page, sizeof(page), (off_t)at) == (ssize_t)sizeof(page));
  }
}

static void set_device(const char *bad_blocks, const char *region) {
  memset(kernel_files, 0, sizeof(kernel_files));
  kernel_files[0].path = "/sys/dev/char/252:7/size";
  kernel_files[0].content = "33554432\n";
  kernel_files[1].path = "/sys/dev/char/252:7/align";
  kernel_files[1].content = "2097152\n";
  kernel_files[2].path = "/sys/dev/char/252:7/resource";
  kernel_files[2].content = "0x140400000\n";
  kernel_files[3].path = "/sys/dev/char/252:7/../../badblocks";
  kernel_files[3].content = bad_blocks;
  kernel_files[4].path = region == NULL ? NULL : "/sys/dev/char/252:7/../../resource";
  kernel_files[4].content = region;
}

/* Of a device that starts 4 MiB into its region: before it, at 3 MiB, at 9 and at 11, where two
 * parts meet, and in its last sector. */
static void bad_blocks_of_devices(int file) {
  set_device("", NULL);
  CHECK(opens_on(OAP_DEVDAX, device, 32 * MIB) == 0);
  const char *list = "0 16\n14336 8\n26624 8\n30720 1\n73727 1\n";
  set_device(list, NULL);
  CHECK(opens_on(OAP_DEVDAX, device, 8 * MIB) == -EIO);
  set_device(list, "0x140000000\n");
  CHECK(opens_on(OAP_DEVDAX, device, 26 * MIB) == -ENOSPC);
  fill(file, 0);
  oap_pool *pool;
  CHECK(open_on(OAP_DEVDAX, device, 24 * MIB, false, &pool) == 0);
  oap_key key = key_numbered(1, 0, 0);
  oap_chunk chunk;
  CHECK(oap_pool_reserve(pool, &key, 24 * MIB, &chunk) == 0 && chunk.pieces == 1);
  memset(chunk.piece[0].data, 7, 24 * MIB);
  CHECK(oap_pool_abandon(pool, &chunk) == 0);
  pool_close(pool);
  const uint64_t good[][2] = {{0, 2}, {4, 8}, {12, 30}};
  const uint64_t bad[][2] = {{2, 4}, {8, 12}, {30, 32}};
  for (int i = 0; i < 3; i++) {
    CHECK(has_only(file, 7, good[i][0] * MIB, good[i][1] * MIB));
    CHECK(has_only(file, 0, bad[i][0] * MIB, bad[i][1] * MIB));
  }
}

/* Opens a pool, puts something into it, and ends it in one of several ways. */
static void use_device(bool erase, bool retire, bool close_it) {
  oap_pool *pool;
  CHECK(open_on(OAP_DEVDAX, device, 16 * MIB, erase, &pool) == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 16 * MIB) == 0);
  CHECK(!retire || oap_pool_retire(pool) == 0);
  if (close_it) {
    pool_close(pool);
  }
}

/* Nothing of what was cached is left on a device, if so wished, unless the process is killed; then
 * the next one wipes it. */
static void what_stays_on_devices(int file) {
  set_device("", NULL);
  fill(file, 0);
  use_device(false, true, true);
  CHECK(!has_only(file, 0, 0, DEVICE_BYTES));
  for (int retire = 0; retire < 2; retire++) {
    fill(file, 7);
    use_device(true, retire == 1, true);
    CHECK(has_only(file, 0, 0, DEVICE_BYTES));
  }
  pid_t child = check_fork();
  if (child == 0) {
    use_device(true, false, false);
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(!has_only(file, 0, 0, DEVICE_BYTES));
  oap_pool *pool;
  CHECK(open_on(OAP_DEVDAX, device, 16 * MIB, true, &pool) == 0);
  CHECK(has_only(file, 0, 0, DEVICE_BYTES));
  pool_close(pool);
}

static void devices(void) {
  int file = mkostemp(device, O_CLOEXEC);
  CHECK(file >= 0 && ftruncate(file, (off_t)DEVICE_BYTES) == 0);
  is_device = true;
  bad_blocks_of_devices(file);
  what_stays_on_devices(file);
  is_device = false;
  CHECK(close(file) == 0 && unlink(device) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  kernels_and_dax();
  bad_blocks_under_files();
  devices();
  return 0;
}
