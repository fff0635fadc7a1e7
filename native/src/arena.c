/* Arenas: see arena.h. */
#include "arena.h"

#include "poison.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int map_file(oap_arena *arena, const char *path, uint64_t bytes) {
  struct stat status;
  if (stat(path, &status) != 0) {
    return -errno;
  }
  if (!S_ISDIR(status.st_mode)) {
    return -ENOTDIR;
  }
  int fd = open_unnamed(path);
  if (fd < 0) {
    return fd;
  }
  int error = posix_fallocate(fd, 0, (off_t)bytes);
  if (error == 0) {
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      error = errno;
    } else {
      *arena = (oap_arena){.data = data, .bytes = bytes};
      OAP_POISON(data, bytes);
    }
  }
  close(fd);
  return -error;
}

int oap_arena_map(oap_arena *arena, const char *path, uint64_t bytes) {
  if (path != NULL) {
    return map_file(arena, path, bytes);
  }
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  *arena = (oap_arena){.data = data, .bytes = bytes};
  OAP_POISON(data, bytes);
  return 0;
}

void oap_arena_unmap(oap_arena *arena) {
  if (arena->data != NULL) {
    OAP_UNPOISON(arena->data, arena->bytes);
    munmap(arena->data, arena->bytes);
    arena->data = NULL;
  }
}

int oap_arena_empty(oap_arena *arena) {
  void *data = mmap(arena->data, arena->bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return data == MAP_FAILED ? -errno : 0;
}

void *oap_table_map(uint64_t bytes) {
  void *table =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED) {
    return NULL;
  }
  /* Tables are sparse; a huge page per touched slot would undo that. */
  madvise(table, bytes, MADV_NOHUGEPAGE);
  return table;
}

void oap_table_unmap(void *table, uint64_t bytes) {
  if (table != NULL) {
    munmap(table, bytes);
  }
}

uint64_t oap_table_resident(const void *table, uint64_t bytes) {
  enum { PAGES_AT_ONCE = 4096 };
  unsigned char seen[PAGES_AT_ONCE];
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t resident = 0;
  for (uint64_t at = 0; at < bytes; at += PAGES_AT_ONCE * page) {
    uint64_t part = bytes - at < PAGES_AT_ONCE * page ? bytes - at : PAGES_AT_ONCE * page;
    if (mincore((char *)(uintptr_t)table + at, part, seen) != 0) {
      return resident;
    }
    for (uint64_t i = 0; i < (part + page - 1) / page; i++) {
      resident += (seen[i] & 1) * page;
    }
  }
  return resident;
}
