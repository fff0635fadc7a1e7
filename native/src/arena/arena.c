/* What arenas of all kinds share: see arena.h. */
#include "arena_parts.h"

#include "base/arithmetic.h"
#include "base/copy.h"
#include "poison.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

uint32_t oap_arena_count(const oap_options *options) {
  bool on_paths =
      options->medium == OAP_FILE || options->medium == OAP_FSDAX || options->medium == OAP_DEVDAX;
  if (on_paths != (options->path_count > 0) || options->path_count > OAP_MAX_PATHS ||
      (options->nodes != 0 && on_paths) ||
      (options->reopen && options->medium != OAP_FILE && options->medium != OAP_FSDAX)) {
    return 0;
  }
  switch (options->medium) {
  case OAP_FILE:
  case OAP_FSDAX:
  case OAP_DEVDAX:
    return options->path_count;
  case OAP_NODE:
    return options->nodes == 0 || options->interleave
               ? 1
               : (uint32_t)__builtin_popcountll(options->nodes);
  case OAP_DRAM:
    return 1;
  }
  return 0;
}

static bool is_memory(const oap_arena *arena) {
  return arena->medium == OAP_DRAM || arena->medium == OAP_NODE;
}

int oap_arena_has_room(const oap_arena *arena, uint64_t bytes) {
  if (arena->medium == OAP_DEVDAX) {
    return 0;
  }
  return is_memory(arena) ? oap_memory_has_room(arena, bytes)
                          : oap_file_has_room(arena->file, bytes);
}

static void erase(const oap_arena *arena) {
  memset(arena->data, 0, arena->bytes);
  oap_stream_end();
}

static int map_file(oap_arena *arena, const char *directory, int named, uint64_t least,
                    void **data) {
  arena->spare = arena->bytes;
  arena->file = named >= 0 ? named : oap_file_unnamed(directory);
  if (arena->file < 0) {
    return arena->file;
  }
  int error = oap_file_map(arena->file, arena->medium == OAP_FSDAX, least, arena->bytes, data);
  if (error != 0) {
    close(arena->file);
    arena->file = -1;
  } else if (arena->medium == OAP_FILE) {
    arena->ask_every_ms = oap_file_ask_every_ms(arena->file);
  }
  return error;
}

static int map(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t own_node,
               int named, uint64_t least, void **data) {
  switch (options->medium) {
  case OAP_NODE: {
    uint64_t nodes = options->nodes == 0 ? own_node : options->nodes;
    arena->nodes = options->interleave ? nodes : oap_node_numbered(nodes, own_node, i);
  }
    /* fall through */
  case OAP_DRAM: {
    int error = oap_memory_has_room(arena, least);
    return error == 0 ? oap_memory_reserve(arena->bytes, PROT_NONE, data) : error;
  }
  case OAP_FILE:
  case OAP_FSDAX:
    return map_file(arena, options->paths[i], named, least, data);
  case OAP_DEVDAX:
    arena->erase = options->erase;
    return oap_device_map(options->paths[i], least, &arena->bytes, data, &arena->file);
  }
  return -EINVAL;
}

int oap_arena_open(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t own_node,
                   int named, uint64_t least, uint64_t bytes) {
  *arena = (oap_arena){.bytes = bytes,
                       .medium = options->medium,
                       .nodes = options->nodes,
                       .interleave = options->interleave,
                       .file = -1};
  void *data = NULL;
  int error = map(arena, options, i, own_node, named, least, &data);
  if (error != 0) {
    return error;
  }
  arena->data = data;
  oap_memory_hide(data, arena->bytes);
  if (arena->erase) { /* what a pool has left whose process was killed */
    erase(arena);
  }
  OAP_POISON(data, arena->bytes);
  return 0;
}

int oap_arena_commit(oap_arena *arena, uint64_t offset, uint64_t from, uint64_t ever, uint64_t to) {
  if (arena->medium == OAP_DEVDAX) {
    return 0;
  }
  return is_memory(arena) ? oap_memory_commit(arena, offset, from, ever, to)
                          : oap_file_commit(arena, offset + from, to - from);
}

void oap_arena_release(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  if (arena->medium == OAP_DEVDAX) {
    return;
  }
  /* Explicit huge pages go as a whole, which must not be left to the kernel: Linux 5.18 to 6.0
   * lets go of one of which only the first part was named. */
  bool huge = atomic_load(&arena->has_huge_pages);
  uint64_t page = huge ? OAP_HUGE_PAGE : (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t start = oap_round_up(offset, page);
  uint64_t end = (offset + bytes) / page * page;
  if (start >= end) {
    return;
  }
  if (is_memory(arena)) {
    madvise(arena->data + start, end - start, MADV_DONTNEED);
  } else {
    oap_arena_part part;
    for (; oap_file_next_in_place(arena, start, end, &part); start = part.end) {
      fallocate(arena->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)part.start,
                (off_t)(part.end - part.start));
    }
  }
}

void oap_arena_touch(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  if (is_memory(arena)) {
    oap_memory_touch(arena, offset, bytes);
  }
}

/* Only where nobody else can be in the arena. */
static void leave(oap_arena *arena) {
  if (arena->erase) {
    OAP_UNPOISON(arena->data, arena->bytes);
    erase(arena);
    arena->erase = false;
  }
}

/* After the mapping is gone, not before: the file is also the device's lock. A child process that
 * is about to start another program may have the file open, too, so closing alone does not end
 * it. */
static void close_file(oap_arena *arena) {
  if (arena->file >= 0) {
    flock(arena->file, LOCK_UN);
    close(arena->file);
    arena->file = -1;
  }
}

void oap_arena_close(oap_arena *arena) {
  if (arena->data != NULL) {
    leave(arena);
    OAP_UNPOISON(arena->data, arena->bytes);
    munmap(arena->data, arena->bytes);
    arena->data = NULL;
    free(arena->moved);
    close_file(arena);
  }
}

int oap_arena_empty(oap_arena *arena) {
  leave(arena);
  /* Where the system does not overcommit, addresses that can be written count as memory. */
  void *data = mmap(arena->data, arena->bytes, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  close_file(arena);
  return 0;
}
