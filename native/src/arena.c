/* Arenas in memory, and what all arenas share: see arena.h. */
#include "arena.h"

#include "poison.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/mempolicy.h, which not every system has. */
enum { POLICY_BIND = 2, POLICY_INTERLEAVE = 3 };

/* Explicit huge pages are taken if the administrator has set enough of them aside: the kernel
 * reserves them here, so that none can be missing later. */
static int map_memory(uint64_t bytes, void **data) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  *data = MAP_FAILED;
  if (bytes % (UINT64_C(2) << 20) == 0) {
    *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT),
                 -1, 0);
  }
  if (*data == MAP_FAILED) {
    *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (*data == MAP_FAILED) {
      return -errno;
    }
    /* Without effect where the system has no transparent huge pages. */
    madvise(*data, bytes, MADV_HUGEPAGE);
  }
  return 0;
}

/* The node whose memory is nearest to the processor that runs this. */
static uint64_t own_node(void) {
  unsigned cpu;
  unsigned node;
  return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 && node < 64 ? UINT64_C(1) << node : 1;
}

/* The i-th of the nodes; own node first, the others in order. */
static uint64_t node_numbered(uint64_t nodes, uint32_t i) {
  uint64_t own = own_node() & nodes;
  if (own != 0 && i-- == 0) {
    return own;
  }
  nodes &= ~own;
  while (i-- > 0) {
    nodes &= nodes - 1;
  }
  return nodes & -nodes;
}

static int map_nodes(uint64_t nodes, bool interleave, uint64_t bytes, void **data) {
  int error = map_memory(bytes, data);
  if (error != 0) {
    return error;
  }
  unsigned long mask = (unsigned long)nodes;
  int policy = interleave ? POLICY_INTERLEAVE : POLICY_BIND;
  /* One more than the bits that count: the kernel takes one off. */
  if (syscall(SYS_mbind, *data, bytes, policy, &mask, sizeof(mask) * 8 + 1, 0) != 0) {
    error = -errno;
    munmap(*data, bytes);
  }
  return error;
}

uint32_t oap_arena_count(const oap_options *options) {
  bool on_paths =
      options->medium == OAP_FILE || options->medium == OAP_FSDAX || options->medium == OAP_DEVDAX;
  if (on_paths != (options->path_count > 0) || options->path_count > OAP_MAX_PATHS ||
      (options->nodes != 0 && options->medium != OAP_NODE)) {
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

int oap_arena_map(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t bytes) {
  void *data = NULL;
  int lock = -1;
  int error = -EINVAL;
  switch (options->medium) {
  case OAP_DRAM:
    error = map_memory(bytes, &data);
    break;
  case OAP_NODE: {
    uint64_t nodes = options->nodes == 0 ? own_node() : options->nodes;
    error = map_nodes(options->interleave ? nodes : node_numbered(nodes, i), options->interleave,
                      bytes, &data);
    break;
  }
  case OAP_FILE:
  case OAP_FSDAX:
    error = oap_map_file(options->paths[i], options->medium == OAP_FSDAX, bytes, &data);
    break;
  case OAP_DEVDAX:
    error = oap_map_device(options->paths[i], bytes, &data, &lock);
    break;
  }
  if (error == 0) {
    arena->data = data;
    arena->bytes = bytes;
    arena->lock = lock;
    OAP_POISON(data, bytes);
  }
  return error;
}

/* After the mapping is gone, not before. */
static void unlock(oap_arena *arena) {
  if (arena->lock >= 0) {
    close(arena->lock);
    arena->lock = -1;
  }
}

void oap_arena_unmap(oap_arena *arena) {
  if (arena->data != NULL) {
    OAP_UNPOISON(arena->data, arena->bytes);
    munmap(arena->data, arena->bytes);
    arena->data = NULL;
    unlock(arena);
  }
}

int oap_arena_empty(oap_arena *arena) {
  void *data = mmap(arena->data, arena->bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  unlock(arena);
  return 0;
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
