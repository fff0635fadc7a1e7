/* Arenas in memory, and the nodes it lies on. */
#include "arena_parts.h"
#include "base/arithmetic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From linux/mempolicy.h, which not every system has. */
enum { POLICY_PREFERRED = 1, POLICY_BIND = 2, POLICY_INTERLEAVE = 3 };

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int oap_memory_reserve(uint64_t bytes, int protection, void **data) {
  unsigned char *mapped = mmap(NULL, bytes + OAP_HUGE_PAGE, protection,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return -errno;
  }
  uint64_t before = (OAP_HUGE_PAGE - (uintptr_t)mapped % OAP_HUGE_PAGE) % OAP_HUGE_PAGE;
  if (before > 0) {
    munmap(mapped, before);
  }
  munmap(mapped + before + bytes, OAP_HUGE_PAGE - before);
  *data = mapped + before;
  return 0;
}

void oap_memory_hide(void *data, uint64_t bytes) {
  madvise(data, bytes, MADV_DONTDUMP);
  madvise(data, bytes, MADV_DONTFORK);
}

static bool map_huge(void *where, uint64_t bytes, int more_flags, void **data) {
  *data =
      mmap(where, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT) | more_flags, -1, 0);
  return *data != MAP_FAILED;
}

/* The only policies that let pages lie on other nodes when these are full, and that kernels before
 * 5.15 have, too. */
static int policy_of_preference(uint64_t nodes) {
  return (nodes & (nodes - 1)) == 0 ? POLICY_PREFERRED : POLICY_INTERLEAVE;
}

/* Memory of nodes is bound to them; other lies where it is preferred, or is left as it is. */
static int bind_to_nodes(const oap_arena *arena, void *at, uint64_t bytes) {
  if (arena->nodes == 0) {
    return 0;
  }
  unsigned long mask = (unsigned long)arena->nodes;
  int policy = arena->medium == OAP_DRAM ? policy_of_preference(arena->nodes)
               : arena->interleave       ? POLICY_INTERLEAVE
                                         : POLICY_BIND;
  /* One more than the bits that count: the kernel takes one off. */
  return syscall(SYS_mbind, at, bytes, policy, &mask, sizeof(mask) * 8 + 1, 0) == 0 ? 0 : -errno;
}

/* Takes explicit huge pages if the administrator has set enough of them aside; a trial mapping
 * elsewhere tells. The one in place asks the kernel to reserve none: a reservation can be refused
 * after the kernel has unmapped what was there, and then another thread's mapping may land in the
 * gap. Without a reservation a page that is missing is missing at the first touch, by SIGBUS, as it
 * may be with one under a control group's limit or on nodes. So all pages are touched here by a
 * call that can fail (Linux 5.14; before, none are taken). */
static bool commit_huge(oap_arena *arena, unsigned char *at, uint64_t bytes) {
  void *data;
  if (!map_huge(NULL, bytes, 0, &data)) {
    return false;
  }
  munmap(data, bytes);
  if (!map_huge(at, bytes, MAP_FIXED | MAP_NORESERVE, &data)) {
    return false;
  }
  oap_memory_hide(at, bytes);
  if (bind_to_nodes(arena, at, bytes) == 0 && madvise(at, bytes, MADV_POPULATE_WRITE) == 0) {
    atomic_store(&arena->has_huge_pages, true);
    return true;
  }
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  oap_memory_hide(at, bytes);
  return false;
}

static int commit_first(oap_arena *arena, uint64_t offset, uint64_t bytes) {
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

int oap_memory_commit(oap_arena *arena, uint64_t offset, uint64_t from, uint64_t ever,
                      uint64_t to) {
  uint64_t start = oap_round_up(from, OAP_HUGE_PAGE);
  uint64_t end = oap_round_up(to, OAP_HUGE_PAGE);
  uint64_t again = oap_least(oap_most(oap_round_up(ever, OAP_HUGE_PAGE), start), end);
  int error = start < again ? commit_again(arena, offset + start, again - start) : 0;
  return error == 0 && again < end ? commit_first(arena, offset + again, end - again) : error;
}

uint64_t oap_own_node(void) {
  unsigned cpu;
  unsigned node;
  return syscall(SYS_getcpu, &cpu, &node, NULL) == 0 && node < 64 ? UINT64_C(1) << node : 1;
}

uint64_t oap_node_numbered(uint64_t nodes, uint64_t own, uint32_t i) {
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

/* Bytes of explicit huge pages that nobody has. */
static uint64_t free_huge_bytes(unsigned node) {
  char path[96];
  snprintf(path, sizeof(path),
           "/sys/devices/system/node/node%u/hugepages/hugepages-2048kB/free_hugepages", node);
  FILE *file = fopen(path, "re");
  unsigned long long pages = 0;
  if (file != NULL) {
    if (fscanf(file, "%llu", &pages) != 1) {
      pages = 0;
    }
    fclose(file);
  }
  return pages * OAP_HUGE_PAGE;
}

/* Whether a node has so many bytes that are free, or hold pages of files, which the kernel gives up
 * for other uses. True where the kernel does not tell. */
static bool node_has_room(unsigned node, uint64_t bytes) {
  char path[64];
  snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node);
  FILE *file = fopen(path, "re");
  if (file == NULL) {
    return true;
  }
  uint64_t kibibytes = 0;
  bool told = false;
  char line[128];
  while (fgets(line, sizeof(line), file) != NULL) {
    char name[32];
    unsigned long long value;
    if (sscanf(line, "Node %*u %31[^:]: %llu", name, &value) == 2 &&
        (strcmp(name, "MemFree") == 0 || strcmp(name, "Active(file)") == 0 ||
         strcmp(name, "Inactive(file)") == 0)) {
      kibibytes += value;
      told = true;
    }
  }
  fclose(file);
  return !told || bytes <= kibibytes * 1024 + free_huge_bytes(node);
}

/* A node that is bound to and has no more memory means that the kernel kills a process. */
static bool nodes_have_room(const oap_arena *arena, uint64_t bytes) {
  uint64_t each = bytes / (unsigned)__builtin_popcountll(arena->nodes);
  for (uint64_t left = arena->nodes; left != 0; left &= left - 1) {
    if (!node_has_room((unsigned)__builtin_ctzll(left), each)) {
      return false;
    }
  }
  return true;
}

int oap_memory_has_room(const oap_arena *arena, uint64_t bytes) {
  if (arena->medium == OAP_NODE && !nodes_have_room(arena, bytes)) {
    return -ENOMEM;
  }
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return -errno;
  }
  munmap(data, bytes);
  return 0;
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

void oap_memory_touch(const oap_arena *arena, uint64_t offset, uint64_t bytes) {
  if (madvise(arena->data + offset, bytes, MADV_POPULATE_WRITE) != 0 && errno == EINVAL) {
    touch_pages(arena->data + offset, bytes);
  }
}

bool oap_memory_is_readable(const void *data, uint64_t bytes) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uintptr_t start = (uintptr_t)data / page * page;
  uintptr_t end = oap_round_up((uintptr_t)data + bytes, page);
  return madvise((void *)start, end - start, MADV_POPULATE_READ) == 0 ||
         (errno != EFAULT && errno != EHWPOISON);
}
