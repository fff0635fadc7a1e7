/* Arenas in files. */
#include "arena_parts.h"

#include "bad_blocks.h"
#include "base/arithmetic.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif
#define ZFS_MAGIC 0x2fc12fc1 /* not in the kernel's headers */

int oap_file_has_room(int file, uint64_t bytes) {
  struct statvfs system;
  if (fstatvfs(file, &system) != 0) {
    return -errno;
  }
  /* A file system without blocks, such as a tmpfs without a limit, does not tell. */
  return system.f_blocks > 0 && bytes / system.f_frsize > system.f_bavail ? -ENOSPC : 0;
}

/* A file without a name in the directory: it goes when its last user does, however he ends. Where
 * the file system knows no unnamed files, one with a name that is removed at once. */
static int open_unnamed(const char *directory) {
  int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) {
    return fd;
  }
  /* EISDIR: a kernel, EOPNOTSUPP: a file system without O_TMPFILE. */
  if (errno != EISDIR && errno != EOPNOTSUPP) {
    return -errno;
  }
  char *name = NULL;
  if (asprintf(&name, "%s/oap-pool-XXXXXX", directory) < 0) {
    return -ENOMEM;
  }
  fd = mkostemp(name, O_CLOEXEC);
  if (fd < 0) {
    fd = -errno;
  } else if (unlink(name) != 0) {
    int error = errno;
    close(fd);
    fd = -error;
  }
  free(name);
  return fd;
}

/* Kernels before 5.8 do not tell of a file whether it is mapped directly. Those from 4.15 on grant
 * MAP_SYNC only for one that is. */
static bool is_dax(int fd) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, 0, &status) != 0) {
    return false;
  }
  if (((status.stx_attributes | status.stx_attributes_mask) & STATX_ATTR_DAX) != 0) {
    return (status.stx_attributes & STATX_ATTR_DAX) != 0;
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *trial = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  if (trial == MAP_FAILED) {
    return false;
  }
  munmap(trial, page);
  return true;
}

int oap_file_keep_in_place(int file) {
  struct statfs system;
  if (fstatfs(file, &system) != 0) {
    return -errno;
  }
  if (system.f_type == ZFS_MAGIC) {
    return -EOPNOTSUPP;
  }
  bool may_be_btrfs = system.f_type == OVERLAYFS_SUPER_MAGIC; /* it hands the mark on */
  if (system.f_type != BTRFS_SUPER_MAGIC && !may_be_btrfs) {
    return 0;
  }
  int flags = 0;
  bool is_marked = ioctl(file, FS_IOC_GETFLAGS, &flags) == 0;
  flags |= FS_NOCOW_FL;
  is_marked = is_marked && ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
  return is_marked || may_be_btrfs ? 0 : -EOPNOTSUPP;
}

/* A file that becomes larger than this process may make one raises a signal. */
static bool may_be_so_long(uint64_t bytes) {
  struct rlimit most;
  return getrlimit(RLIMIT_FSIZE, &most) != 0 || bytes <= most.rlim_cur;
}

/* Makes the file what the pool needs: of so many bytes, of which none takes space yet. */
static int prepare(int fd, bool must_be_dax, uint64_t bytes) {
  if (must_be_dax && !is_dax(fd)) {
    return -EOPNOTSUPP;
  }
  if (!may_be_so_long(bytes)) {
    return -EFBIG;
  }
  int error = oap_file_keep_in_place(fd);
  return error == 0 && ftruncate(fd, (off_t)bytes) != 0 ? -errno : error;
}

int oap_file_unnamed(const char *directory) {
  struct stat status;
  if (stat(directory, &status) != 0) {
    return -errno;
  }
  return S_ISDIR(status.st_mode) ? open_unnamed(directory) : -ENOTDIR;
}

/* Room comes last: where the file may not be so long, or there are no addresses for it, a home of a
 * pool that grows less may lie there, and it must not go to make room for another one. */
int oap_file_map(int file, bool must_be_dax, uint64_t least, uint64_t bytes, void **data) {
  int error = prepare(file, must_be_dax, bytes);
  if (error != 0) {
    return error;
  }
  *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (*data == MAP_FAILED) {
    return -errno;
  }
  error = oap_file_has_room(file, least);
  if (error != 0) {
    munmap(*data, bytes);
  }
  return error;
}

/* A signal breaks it off, and undoes it, on a tmpfs. */
int oap_file_allocate(int file, uint64_t offset, uint64_t bytes) {
  enum { MOST_SIGNALS = 1000 };
  int error = EINTR;
  for (int i = 0; error == EINTR && i < MOST_SIGNALS; i++) {
    error = posix_fallocate(file, (off_t)offset, (off_t)bytes);
  }
  return -error;
}

bool oap_file_next_in_place(const oap_arena *arena, uint64_t from, uint64_t end,
                            oap_arena_part *out) {
  *out = (oap_arena_part){.start = from, .end = end};
  for (uint32_t i = 0; i < arena->moved_count && arena->moved[i].start < out->end; i++) {
    if (arena->moved[i].start > out->start) {
      out->end = arena->moved[i].start;
    } else if (arena->moved[i].end > out->start) {
      out->start = arena->moved[i].end;
    }
  }
  return out->start < out->end;
}

/* Makes room in the list of parts that were moved. */
static int expect_moved(oap_arena *arena) {
  oap_arena_part *more = realloc(arena->moved, (arena->moved_count + 1) * sizeof(*more));
  if (more == NULL) {
    return -ENOMEM;
  }
  arena->moved = more;
  return 0;
}

static void note_moved(oap_arena *arena, uint64_t offset, uint64_t bytes) {
  uint32_t i = arena->moved_count++;
  for (; i > 0 && arena->moved[i - 1].start > offset; i--) {
    arena->moved[i] = arena->moved[i - 1];
  }
  arena->moved[i] = (oap_arena_part){.start = offset, .end = offset + bytes};
}

/* Gives a range of the arena other blocks, behind the end of the file. The bad ones stay what they
 * are in the file, so that nobody gets them; nothing is mapped to them any more. */
static int move_away(oap_arena *arena, const oap_bad_blocks *bad, uint64_t offset, uint64_t bytes) {
  enum { MOST_TRIALS = 64 };
  bool touched = true;
  uint64_t place = 0;
  for (int i = 0; touched && i < MOST_TRIALS; i++) {
    /* As far from a huge page's start as it was: else it could not be mapped by huge pages. */
    place = oap_round_up(arena->spare, OAP_HUGE_PAGE) + offset % OAP_HUGE_PAGE;
    if (!may_be_so_long(place + bytes)) {
      return -EFBIG;
    }
    int error = oap_file_allocate(arena->file, place, bytes);
    if (error == 0) {
      error = oap_bad_blocks_touch(bad, arena->file, place, bytes, &touched);
    }
    if (error != 0) {
      return error;
    }
    arena->spare = place + bytes;
  }
  if (touched) {
    return -EIO;
  }
  int error = expect_moved(arena);
  if (error != 0) {
    return error;
  }
  unsigned char *at = arena->data + offset;
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, arena->file, (off_t)place) ==
      MAP_FAILED) {
    return -errno;
  }
  oap_memory_hide(at, bytes);
  note_moved(arena, offset, bytes);
  return 0;
}

static int commit_step(oap_arena *arena, const oap_bad_blocks *bad, uint64_t offset,
                       uint64_t bytes) {
  bool touched = false;
  int error = oap_file_allocate(arena->file, offset, bytes);
  if (error == 0) {
    error = oap_bad_blocks_touch(bad, arena->file, offset, bytes, &touched);
  }
  return error == 0 && touched ? move_away(arena, bad, offset, bytes) : error;
}

/* In steps that take less time than there is between the signals of a profiler. */
int oap_file_commit(oap_arena *arena, uint64_t offset, uint64_t bytes) {
  const uint64_t step = UINT64_C(4) << 20;
  int error = 0;
  oap_bad_blocks bad = {.count = 0};
  if (arena->medium == OAP_FSDAX) {
    oap_bad_blocks_under_file(arena->file, &bad);
  }
  oap_arena_part part;
  for (uint64_t at = offset;
       error == 0 && oap_file_next_in_place(arena, at, offset + bytes, &part);) {
    at = oap_least(part.end, part.start + step);
    error = commit_step(arena, &bad, part.start, at - part.start);
  }
  return error;
}

/* Asking of a file on an overlay waits for its journal. */
enum { DIRECTLY_MS = 100, THROUGH_OVERLAY_MS = 1000 };

unsigned oap_file_ask_every_ms(int file) {
  struct statfs system;
  if (fstatfs(file, &system) != 0) {
    return 0;
  }
  switch (system.f_type) {
  case TMPFS_MAGIC:
  case RAMFS_MAGIC:
  case HUGETLBFS_MAGIC:
    return 0;
  case OVERLAYFS_SUPER_MAGIC:
    return THROUGH_OVERLAY_MS;
  default:
    return DIRECTLY_MS;
  }
}

/* The kernel notes a failed write-back with the file, for each who has it open (errseq_t, Linux
 * 4.14), marks the page clean all the same, and reads the old bytes when it needs the page again.
 * Either call hands the note out, and waits for the range that it is asked about, where nothing is
 * on its way: behind the end of all files, or at the end of the addresses. The first knows only the
 * file that was opened. Of an overlay that is another than the one that is mapped. */
bool oap_file_has_lost_writes(int file, unsigned ask_every_ms, void *page) {
  const off_t behind_all_files = (off_t)1 << 62;
  int result = 0;
  if (ask_every_ms == DIRECTLY_MS) {
    result = sync_file_range(file, behind_all_files, 1, SYNC_FILE_RANGE_WAIT_BEFORE);
  } else if (ask_every_ms == THROUGH_OVERLAY_MS) {
    result = msync(page, (size_t)sysconf(_SC_PAGESIZE), MS_SYNC);
  }
  /* The others: a system without the call. */
  return result != 0 && errno != EINVAL && errno != ENOSYS && errno != EPERM;
}

bool oap_arena_has_lost_writes(const oap_arena *arena) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return oap_file_has_lost_writes(arena->file, arena->ask_every_ms,
                                  arena->data + arena->bytes - page);
}
