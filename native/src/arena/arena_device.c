/* Arenas on DAX devices. */
#include "arena_parts.h"

#include "bad_blocks.h"
#include "base/arithmetic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A number that the kernel tells of a character device; 0 if it does not. */
static uint64_t device_number(dev_t device, const char *name) {
  char path[96];
  uint64_t number;
  snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(device), minor(device), name);
  oap_kernel_number(path, &number);
  return number;
}

static bool is_dax_device(dev_t device) {
  char path[96];
  char target[256];
  snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/subsystem", major(device), minor(device));
  ssize_t length = readlink(path, target, sizeof(target) - 1);
  if (length < 0) {
    return false;
  }
  target[length] = '\0';
  const char *name = strrchr(target, '/');
  return name != NULL && strcmp(name, "/dax") == 0;
}

/* Widens each range to what a mapping can leave out, and joins those that then meet. Returns how
 * many bytes of the device that is. */
static uint64_t widen(oap_bad_blocks *bad, uint64_t align, uint64_t size) {
  uint32_t kept = 0;
  uint64_t bytes = 0;
  uint64_t before = 0; /* end of the range before */
  for (uint32_t i = 0; i < bad->count; i++) {
    uint64_t start = oap_most(bad->range[i].start / align * align, before);
    uint64_t end = oap_least(oap_round_up(bad->range[i].end, align), size);
    if (start < end) {
      bad->range[kept].start = start;
      bad->range[kept++].end = end;
      bytes += end - start;
      before = end;
    }
  }
  bad->count = kept;
  return bytes;
}

static int map_around(int fd, const oap_bad_blocks *bad, uint64_t bytes, void **data) {
  /* The kernel chooses addresses at a multiple of the device's alignment. */
  unsigned char *whole = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (whole == MAP_FAILED) {
    return -errno;
  }
  uint64_t left_out = 0;
  for (uint32_t i = 0; i < bad->count; i++) {
    uint64_t at = bad->range[i].start - left_out; /* what lies behind it is mapped from here on */
    if (at >= bytes) {
      break;
    }
    left_out += bad->range[i].end - bad->range[i].start;
    if (mmap(whole + at, bytes - at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
             (off_t)(at + left_out)) == MAP_FAILED) {
      int error = errno;
      munmap(whole, bytes);
      return -error;
    }
  }
  *data = whole;
  return 0;
}

static int map_device(int fd, uint64_t least, uint64_t *bytes, void **data) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return -errno;
  }
  if (!S_ISCHR(status.st_mode) || !is_dax_device(status.st_rdev)) {
    return -ENODEV;
  }
  oap_bad_blocks bad;
  int error = oap_bad_blocks_of_device(status.st_rdev, &bad);
  if (error != 0) {
    return error;
  }
  uint64_t align = device_number(status.st_rdev, "align");
  align = align == 0 ? 1 : align;
  uint64_t size = device_number(status.st_rdev, "size") / align * align;
  size -= widen(&bad, align, size);
  *bytes = oap_least(oap_round_up(*bytes, align), size);
  return least > size ? -ENOSPC : map_around(fd, &bad, *bytes, data);
}

/* Unlike a file without a name, a device is there for others too, and two pools on one would write
 * over each other's chunks. So it is locked, before anything else is asked of it. */
int oap_device_map(const char *path, uint64_t least, uint64_t *bytes, void **data, int *file) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  int error = 0;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    error = errno == EWOULDBLOCK ? -EBUSY : -errno;
  }
  if (error == 0) {
    error = map_device(fd, least, bytes, data);
  }
  if (error == 0) {
    *file = fd;
  } else {
    close(fd);
  }
  return error;
}
