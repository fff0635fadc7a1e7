/* Arenas in files and on devices. */
#include "arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

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

static bool is_dax(int fd) {
  struct statx status;
  return statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_DAX) != 0;
}

static int map_shared(int fd, bool synchronous, uint64_t bytes, void **data) {
  *data = MAP_FAILED;
  if (synchronous) {
    *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  }
  if (*data == MAP_FAILED) { /* a kernel or device that cannot promise synchronous faults */
    *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  return *data == MAP_FAILED ? -errno : 0;
}

int oap_file_has_room(int file, uint64_t bytes) {
  struct statvfs system;
  if (fstatvfs(file, &system) != 0) {
    return -errno;
  }
  /* A file system without blocks, such as a tmpfs without a limit, does not tell. */
  return system.f_blocks > 0 && bytes / system.f_frsize > system.f_bavail ? -ENOSPC : 0;
}

/* A file of so many bytes, of which none takes space yet. */
static int open_empty(const char *directory, bool must_be_dax, uint64_t least, uint64_t bytes) {
  struct stat status;
  if (stat(directory, &status) != 0) {
    return -errno;
  }
  if (!S_ISDIR(status.st_mode)) {
    return -ENOTDIR;
  }
  int fd = open_unnamed(directory);
  if (fd < 0) {
    return fd;
  }
  int error = 0;
  if (must_be_dax && !is_dax(fd)) {
    error = -EOPNOTSUPP;
  } else {
    error = oap_file_has_room(fd, least);
  }
  struct rlimit most; /* going beyond raises a signal */
  if (error == 0 && getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
    error = -EFBIG;
  }
  if (error == 0 && ftruncate(fd, (off_t)bytes) != 0) {
    error = -errno;
  }
  if (error != 0) {
    close(fd);
    return error;
  }
  return fd;
}

int oap_map_file(const char *directory, bool must_be_dax, uint64_t least, uint64_t bytes,
                 void **data, int *file) {
  int fd = open_empty(directory, must_be_dax, least, bytes);
  if (fd < 0) {
    return fd;
  }
  int error = map_shared(fd, must_be_dax, bytes, data);
  if (error == 0) {
    *file = fd;
  } else {
    close(fd);
  }
  return error;
}

/* A number that the kernel tells of a character device; 0 if it does not. */
static uint64_t device_number(dev_t device, const char *name) {
  char path[96];
  snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(device), minor(device), name);
  FILE *file = fopen(path, "re");
  unsigned long long number = 0;
  if (file != NULL) {
    if (fscanf(file, "%lli", (long long *)&number) != 1) {
      number = 0;
    }
    fclose(file);
  }
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

static int map_device(int fd, uint64_t least, uint64_t *bytes, void **data) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return -errno;
  }
  if (!S_ISCHR(status.st_mode) || !is_dax_device(status.st_rdev)) {
    return -ENODEV;
  }
  uint64_t align = device_number(status.st_rdev, "align");
  align = align == 0 ? 1 : align;
  uint64_t size = device_number(status.st_rdev, "size") / align * align;
  uint64_t wanted = (*bytes + align - 1) / align * align;
  *bytes = wanted < size ? wanted : size;
  return least > size ? -ENOSPC : map_shared(fd, false, *bytes, data);
}

/* Unlike a file without a name, a device is there for others too, and two pools on one would write
 * over each other's chunks. So it is locked, before anything else is asked of it. */
int oap_map_device(const char *path, uint64_t least, uint64_t *bytes, void **data, int *file) {
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
