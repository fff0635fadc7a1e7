/* Files of homes: see home_files.h. */
#include "home_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

static int open_directory(const char *path, bool make) {
  char name[32];
  snprintf(name, sizeof(name), "oap-%u", (unsigned)geteuid());
  int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) {
    return -errno;
  }
  int fd = make && mkdirat(parent, name, 0700) != 0 && errno != EEXIST
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

int oap_directories_open(const oap_options *options, bool make, oap_directories *all) {
  all->count = 0;
  for (uint32_t i = 0; i < options->path_count; i++) {
    int fd = open_directory(options->paths[i], make);
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

static int lock_byte(int fd, short type, uint32_t byte) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)byte, .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

int oap_home_lock(int meta) { return lock_byte(meta, F_WRLCK, 0); }

int oap_home_share(int meta) { return lock_byte(meta, F_RDLCK, 0); }

bool oap_home_lock_member(int meta, uint32_t member) {
  return lock_byte(meta, F_WRLCK, 1 + member) == 0;
}

void oap_home_unlock_member(int meta, uint32_t member) { lock_byte(meta, F_UNLCK, 1 + member); }

void oap_home_unlock(int fd) {
  struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  fcntl(fd, F_OFD_SETLK, &all);
  close(fd);
}

bool oap_home_is_in_use(int meta) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
  return fcntl(meta, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool oap_home_has_name(int meta) {
  struct stat status;
  return fstat(meta, &status) == 0 && status.st_nlink > 0;
}

bool oap_home_take(int meta) {
  if (oap_home_lock(meta) != 0) {
    return false;
  }
  if (oap_home_has_name(meta)) {
    return true;
  }
  lock_byte(meta, F_UNLCK, 0); /* removed since it was opened */
  return false;
}

static void remove_ending(const oap_directories *all, const char *name, const char *ending) {
  char full[FILE_NAME];
  file_name(full, name, ending);
  for (uint32_t i = 0; i < all->count; i++) {
    unlinkat(all->fd[i], full, 0);
  }
}

void oap_home_remove(const oap_directories *all, const char *name) {
  static const char *const endings[] = {".data", ".names", ".names.next", ".meta"};
  for (uint32_t m = 0; m < OAP_MOST_MEMBERS; m++) { /* what each member has written, in Java */
    char ending[16];
    snprintf(ending, sizeof(ending), ".names.%u", m);
    remove_ending(all, name, ending);
    snprintf(ending, sizeof(ending), ".names.%u.next", m);
    remove_ending(all, name, ending);
  }
  for (size_t e = 0; e < sizeof(endings) / sizeof(endings[0]); e++) {
    remove_ending(all, name, endings[e]);
  }
}

int oap_home_note_paths(int meta, const oap_options *options, uint64_t at, uint64_t most) {
  char *all = calloc(1, most); /* each path ends by 0; so does the list */
  uint64_t length = 0;
  int error = all == NULL ? -ENOMEM : 0;
  for (uint32_t i = 0; error == 0 && i < options->path_count; i++) {
    char *path = realpath(options->paths[i], NULL);
    uint64_t bytes = path == NULL ? 0 : strlen(path) + 1;
    if (length + bytes < most) {
      memcpy(all + length, path == NULL ? "" : path, bytes);
      length += bytes;
    }
    free(path);
  }
  if (error == 0 && pwrite(meta, all, length + 1, (off_t)at) != (ssize_t)(length + 1)) {
    error = -EIO;
  }
  free(all);
  return error;
}

void oap_home_remove_noted(int meta, const char *name, uint64_t at, uint64_t most) {
  char *all = calloc(1, most + 1);
  ssize_t length = all == NULL ? 0 : pread(meta, all, most, (off_t)at);
  for (char *path = all; length > 0 && path < all + length && *path == '/';
       path += strlen(path) + 1) {
    oap_directories one = {.fd = {open_directory(path, false)}, .count = 1};
    if (one.fd[0] >= 0) {
      oap_home_remove(&one, name);
      oap_directories_close(&one);
    }
  }
  free(all);
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
