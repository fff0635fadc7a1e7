/* Arenas in memory, and what all arenas share: see arena.h. */
#include "arena.h"

#include "poison.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/mempolicy.h, which not every system has. */
enum { POLICY_BIND = 2, POLICY_INTERLEAVE = 3 };

#define HUGE_PAGE (UINT64_C(2) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Address space that starts at a multiple of HUGE_PAGE. 0 or -errno. */
static int reserve_addresses(uint64_t bytes, int protection, void **data) {
  unsigned char *mapped =
      mmap(NULL, bytes + HUGE_PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return -errno;
  }
  uint64_t before = (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
  if (before > 0) {
    munmap(mapped, before);
  }
  munmap(mapped + before + bytes, HUGE_PAGE - before);
  *data = mapped + before;
  return 0;
}

static int map_huge(void *where, uint64_t bytes, int more_flags, void **data) {
  *data =
      mmap(where, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT) | more_flags, -1, 0);
  return *data == MAP_FAILED ? -errno : 0;
}

/* Memory of nodes is bound to them; other is left as it is. */
static int bind_to_nodes(const oap_arena *arena, void *at, uint64_t bytes) {
  if (arena->medium != OAP_NODE) {
    return 0;
  }
  unsigned long mask = (unsigned long)arena->nodes;
  int policy = arena->interleave ? POLICY_INTERLEAVE : POLICY_BIND;
  /* One more than the bits that count: the kernel takes one off. */
  return syscall(SYS_mbind, at, bytes, policy, &mask, sizeof(mask) * 8 + 1, 0) == 0 ? 0 : -errno;
}

/* Explicit huge pages are taken if the administrator has set enough of them aside. They are asked
 * for elsewhere first, since a refusal in place would tear a hole into the addresses. The kernel
 * reserves them with that, but counts neither the limit of a control group nor on which nodes they
 * lie: what is missing then is missing at the first touch, by SIGBUS. So all are touched here by a
 * call that can fail (Linux 5.14; before, none are taken). */
static bool commit_huge(oap_arena *arena, unsigned char *at, uint64_t bytes) {
  void *data;
  if ((uintptr_t)at % HUGE_PAGE != 0 || bytes % HUGE_PAGE != 0 ||
      map_huge(NULL, bytes, 0, &data) != 0) {
    return false;
  }
  munmap(data, bytes);
  if (map_huge(at, bytes, MAP_FIXED, &data) == 0 && bind_to_nodes(arena, at, bytes) == 0 &&
      madvise(at, bytes, MADV_POPULATE_WRITE) == 0) {
    atomic_store(&arena->has_huge_pages, true);
    return true;
  }
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return false;
}

static int commit_memory(oap_arena *arena, uint64_t offset, uint64_t bytes) {
  unsigned char *at = arena->data + offset;
  if (commit_huge(arena, at, bytes)) {
    return 0;
  }
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
    return -errno;
  }
  /* Without effect where the system has no transparent huge pages. */
  madvise(at, bytes, MADV_HUGEPAGE);
  return bind_to_nodes(arena, at, bytes);
}

/* What was usable once has stayed mapped, but explicit huge pages that were given back may belong
 * to somebody else now. */
static int commit_again(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  bool missing = atomic_load(&arena->has_huge_pages) &&
                 madvise(arena->data + offset, bytes, MADV_POPULATE_WRITE) != 0;
  return missing ? -ENOMEM : 0;
}

/* A signal breaks it off, and undoes it, on a tmpfs. */
static int commit_step(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  enum { MOST_SIGNALS = 1000 };
  int error = EINTR;
  for (int i = 0; error == EINTR && i < MOST_SIGNALS; i++) {
    error = posix_fallocate(arena->file, (off_t)offset, (off_t)bytes);
  }
  return -error;
}

/* Disk space, in steps that take less time than there is between the signals of a profiler. */
static int commit_file(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  const uint64_t step = UINT64_C(4) << 20;
  int error = 0;
  for (uint64_t done = 0; error == 0 && done < bytes; done += step) {
    error = commit_step(arena, offset + done, bytes - done < step ? bytes - done : step);
  }
  return error;
}

uint64_t oap_own_node(void) {
  unsigned cpu;
  unsigned node;
  return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 && node < 64 ? UINT64_C(1) << node : 1;
}

/* The i-th of the nodes; own node first, the others in order. */
static uint64_t node_numbered(uint64_t nodes, uint64_t own, uint32_t i) {
  own &= nodes;
  if (own != 0 && i-- == 0) {
    return own;
  }
  nodes &= ~own;
  while (i-- > 0) {
    nodes &= nodes - 1;
  }
  return nodes & -nodes;
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

static bool is_memory(const oap_arena *arena) {
  return arena->medium == OAP_DRAM || arena->medium == OAP_NODE;
}

int oap_arena_has_room(const oap_arena *arena, uint64_t bytes) {
  if (arena->medium == OAP_DEVDAX) {
    return 0;
  }
  if (!is_memory(arena)) {
    return oap_file_has_room(arena->file, bytes);
  }
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  munmap(data, bytes);
  return 0;
}

int oap_arena_open(oap_arena *arena, const oap_options *options, uint32_t i, uint64_t own_node,
                   uint64_t least, uint64_t bytes) {
  *arena = (oap_arena){.medium = options->medium, .interleave = options->interleave, .file = -1};
  void *data = NULL;
  int error = -EINVAL;
  switch (options->medium) {
  case OAP_NODE: {
    uint64_t nodes = options->nodes == 0 ? own_node : options->nodes;
    arena->nodes = options->interleave ? nodes : node_numbered(nodes, own_node, i);
  }
    /* fall through */
  case OAP_DRAM:
    error = oap_arena_has_room(arena, least);
    if (error == 0) {
      error = reserve_addresses(bytes, PROT_NONE, &data);
    }
    break;
  case OAP_FILE:
  case OAP_FSDAX:
    error = oap_map_file(options->paths[i], options->medium == OAP_FSDAX, least, bytes, &data,
                         &arena->file);
    break;
  case OAP_DEVDAX:
    error = oap_map_device(options->paths[i], least, &bytes, &data, &arena->file);
    break;
  }
  if (error == 0) {
    arena->data = data;
    arena->bytes = bytes;
    OAP_POISON(data, bytes);
  }
  return error;
}

int oap_arena_commit(oap_arena *arena, uint64_t offset, uint64_t from, uint64_t ever, uint64_t to) {
  if (arena->medium == OAP_DEVDAX) {
    return 0;
  }
  if (!is_memory(arena)) {
    return commit_file(arena, offset + from, to - from);
  }
  uint64_t again = from > ever ? from : ever < to ? ever : to;
  int error = from < again ? commit_again(arena, offset + from, again - from) : 0;
  return error == 0 && again < to ? commit_memory(arena, offset + again, to - again) : error;
}

void oap_arena_release(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  if (arena->medium == OAP_DEVDAX) {
    return;
  }
  /* Explicit huge pages go as a whole, which must not be left to the kernel: Linux 5.18 to 6.0
   * lets go of one of which only the first part was named. */
  bool huge = atomic_load(&arena->has_huge_pages);
  uint64_t page = huge ? HUGE_PAGE : (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t start = (offset + page - 1) / page * page;
  uint64_t end = (offset + bytes) / page * page;
  if (start >= end) {
    return;
  }
  if (is_memory(arena)) {
    madvise(arena->data + start, end - start, MADV_DONTNEED);
  } else {
    fallocate(arena->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
              (off_t)(end - start));
  }
}

/* For kernels before 5.14: an exchange of 0 for 0 changes nothing of what others write here, also
 * where a chunk lies or lay; the sanitizers cannot know that. */
__attribute__((no_sanitize("address", "thread"))) static void touch_pages(unsigned char *at,
                                                                          uint64_t bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  for (uint64_t i = 0; i < bytes; i += page) {
    unsigned char zero = 0;
    __atomic_compare_exchange_n(at + i, &zero, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

void oap_arena_touch(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  if (is_memory(arena) && madvise(arena->data + offset, bytes, MADV_POPULATE_WRITE) != 0 &&
      errno == EINVAL) {
    touch_pages(arena->data + offset, bytes);
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
    OAP_UNPOISON(arena->data, arena->bytes);
    munmap(arena->data, arena->bytes);
    arena->data = NULL;
    close_file(arena);
  }
}

int oap_arena_empty(oap_arena *arena) {
  /* Where the system does not overcommit, addresses that can be written count as memory. */
  void *data = mmap(arena->data, arena->bytes, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  close_file(arena);
  return 0;
}

void *oap_table_map(uint64_t bytes) {
  void *table = NULL;
  int error = reserve_addresses(bytes, PROT_READ | PROT_WRITE, &table);
  if (error != 0) {
    errno = -error;
    return NULL;
  }
  /* Tables are sparse; where they are not, oap_table_use_huge is told. */
  madvise(table, bytes, MADV_NOHUGEPAGE);
  return table;
}

void oap_table_use_huge(void *from, uint64_t bytes) {
  uintptr_t start = ((uintptr_t)from + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  uintptr_t end = ((uintptr_t)from + bytes) / HUGE_PAGE * HUGE_PAGE;
  if (start < end) {
    madvise((void *)start, end - start, MADV_HUGEPAGE);
  }
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
