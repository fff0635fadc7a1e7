/* The tier's file: see tier_file.h. */
#include "tier_file.h"

#include "arena/arena_parts.h"
#include "oap_tier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Reserves the room, so that a disk that others fill later costs nothing here. File systems that
 * cannot reserve tell of a full disk when they are written to. */
static int reserve(int fd, uint64_t bytes) {
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
    return -EFBIG; /* a write beyond it would raise a signal */
  }
  int error = oap_file_has_room(fd, bytes);
  if (error == 0 && fallocate(fd, 0, 0, (off_t)bytes) != 0 && errno != EOPNOTSUPP) {
    error = -errno;
  }
  return error == 0 && ftruncate(fd, (off_t)bytes) != 0 ? -errno : error;
}

int oap_tier_file_open(oap_tier_file *file, const char *directory, uint64_t bytes) {
  *file = (oap_tier_file){.fd = oap_file_unnamed(directory)};
  if (file->fd < 0) {
    return file->fd;
  }
  int error = reserve(file->fd, bytes);
  if (error != 0) {
    close(file->fd);
    return error;
  }
  int flags = fcntl(file->fd, F_GETFL);
  fcntl(file->fd, F_SETFL, flags | O_DIRECT); /* refused by some, such as tmpfs */
  pthread_mutex_init(&file->lock, NULL);
  return 0;
}

void oap_tier_file_empty(oap_tier_file *file) {
  int ignored = ftruncate(file->fd, 0); /* else the room comes back with the process's end */
  (void)ignored;
}

void oap_tier_file_close(oap_tier_file *file) {
  close(file->fd);
  for (unsigned i = 0; i < file->kept; i++) {
    free(file->buffers[i]);
  }
  pthread_mutex_destroy(&file->lock);
}

int oap_tier_file_read(oap_tier_file *file, uint64_t position, void *data, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    ssize_t n = pread(file->fd, (char *)data + done, bytes - done, (off_t)(position + done));
    if (n <= 0) {
      return n == 0 ? -EIO : -errno;
    }
    done += (uint64_t)n;
  }
  return 0;
}

int oap_tier_file_write(oap_tier_file *file, uint64_t position, const void *data, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    ssize_t n = pwrite(file->fd, (const char *)data + done, bytes - done, (off_t)(position + done));
    if (n <= 0) {
      return n == 0 ? -EIO : -errno;
    }
    done += (uint64_t)n;
  }
  return 0;
}

void *oap_tier_buffer_take(oap_tier_file *file) {
  void *buffer = NULL;
  pthread_mutex_lock(&file->lock);
  if (file->kept > 0) {
    buffer = file->buffers[--file->kept];
  }
  pthread_mutex_unlock(&file->lock);
  return buffer != NULL ? buffer : aligned_alloc(OAP_TIER_BLOCK, OAP_TIER_BUFFER);
}

void oap_tier_buffer_give(oap_tier_file *file, void *buffer) {
  pthread_mutex_lock(&file->lock);
  if (file->kept < OAP_TIER_BUFFERS) {
    file->buffers[file->kept++] = buffer;
    buffer = NULL;
  }
  pthread_mutex_unlock(&file->lock);
  free(buffer);
}
