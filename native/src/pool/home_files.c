/* Files of homes: see home_files.h. */
#include "home_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { FILE_NAME = 48 }; /* a name with an ending */

void oap_directories_close(const oap_directories *all) {
  for (uint32_t i = 0; i < all->count; i++) {
    close(all->fd[i]);
  }
}

/* Whether something belongs to this user alone. */
static bool is_ours(const struct stat *status) {
  return status->st_uid == geteuid() && (status->st_mode & 077) == 0;
}

static int open_directory(const char *path) {
  char name[32];
  snprintf(name, sizeof(name), "oap-%u", (unsigned)geteuid());
  int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) {
    return -errno;
  }
  int fd = mkdirat(parent, name, 0700) != 0 && errno != EEXIST
               ? -1
               : openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int error = fd < 0 ? errno : 0;
  close(parent);
  struct stat status;
  if (error == 0 && fstat(fd, &status) != 0) {
    error = errno;
  } else if (error == 0 && !is_ours(&status)) {
    error = EPERM;
  }
  if (error != 0 && fd >= 0) {
    close(fd);
  }
  /* A link that stands there is no directory of ours. */
  return error == ELOOP ? -EPERM : error != 0 ? -error : fd;
}

int oap_directories_open(const oap_options *options, oap_directories *all) {
  all->count = 0;
  for (uint32_t i = 0; i < options->path_count; i++) {
    int fd = open_directory(options->paths[i]);
    if (fd < 0) {
      oap_directories_close(all);
      return fd;
    }
    all->fd[all->count++] = fd;
  }
  return 0;
}

static void file_name(char out[FILE_NAME], const char *name, const char *ending) {
  snprintf(out, FILE_NAME, "%.32s%s", name, ending);
}

int oap_home_file(int directory, const char *name, const char *ending, int flags) {
  char full[FILE_NAME];
  file_name(full, name, ending);
  int fd = openat(directory, full, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);
  struct stat status;
  if (fd < 0) {
    return -errno;
  }
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !is_ours(&status)) {
    close(fd);
    return -EPERM;
  }
  return fd;
}

static int lock_file(int fd, short type) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

int oap_home_lock(int meta) { return lock_file(meta, F_WRLCK); }

void oap_home_unlock(int fd) {
  lock_file(fd, F_UNLCK);
  close(fd);
}

bool oap_home_is_in_use(int meta) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(meta, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool oap_home_take(int meta) {
  struct stat status;
  if (oap_home_lock(meta) != 0) {
    return false;
  }
  if (fstat(meta, &status) == 0 && status.st_nlink > 0) {
    return true;
  }
  lock_file(meta, F_UNLCK); /* removed since it was opened */
  return false;
}

void oap_home_remove(const oap_directories *all, const char *name) {
  static const char *const endings[] = {".data", ".names", ".names.next", ".meta"};
  for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
    char full[FILE_NAME];
    file_name(full, name, endings[e]);
    for (uint32_t i = 0; i < all->count; i++) {
      unlinkat(all->fd[i], full, 0);
    }
  }
}

bool oap_home_is_expired(int meta, uint32_t keep_seconds) {
  struct stat status;
  struct timespec now;
  return fstat(meta, &status) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
         now.tv_sec - status.st_mtim.tv_sec >= (time_t)keep_seconds;
}

bool oap_home_is_meta(const char *file, char name[OAP_HOME_NAME]) {
  if (strlen(file) != 37 || strspn(file, "0123456789abcdef") != 32 ||
      strcmp(file + 32, ".meta") != 0) {
    return false;
  }
  memcpy(name, file, 32);
  name[32] = 0;
  return true;
}

int oap_home_name(char name[OAP_HOME_NAME]) {
  unsigned char random[16];
  if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
    return -EIO;
  }
  for (int i = 0; i < 16; i++) {
    snprintf(name + 2 * i, 3, "%02x", random[i]);
  }
  return 0;
}
