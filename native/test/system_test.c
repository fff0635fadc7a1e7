/* What the system may answer, or do meanwhile, to a pool in memory on machines that are not at
 * hand: the calls go through here, and are answered as kernels and control groups do. */
#include "base/background.h"
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define HUGE_PAGE (2 * MIB)
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which not every system's headers have */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
long __real_sysconf(int name);
long __wrap_sysconf(int name);
int __real_mincore(void *at, size_t bytes, unsigned char *seen);
int __wrap_mincore(void *at, size_t bytes, unsigned char *seen);

/* ---- Huge pages: mappings that ask for them get other memory, and its manners ---- */

static struct { uintptr_t start, end; } huge[64];
static unsigned huge_count;
static bool pages_are_there;    /* as many as are reserved */
static bool pages_go_meanwhile; /* between a trial and the mapping in place */
static bool never_overcommits;  /* counts what can be written, and heeds no MAP_NORESERVE */
static unsigned char *stranger; /* another thread's mapping */

static unsigned huge_at(uintptr_t start) {
  unsigned i = 0;
  while (i < huge_count && (start < huge[i].start || start >= huge[i].end)) {
    i++;
  }
  return i;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (never_overcommits && (protection & PROT_WRITE) != 0) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (pages_go_meanwhile && (flags & MAP_HUGETLB) != 0 && (flags & MAP_FIXED) != 0 &&
      (flags & MAP_NORESERVE) == 0) {
    /* The kernel has unmapped what was there when it finds that it cannot reserve the pages. */
    CHECK(munmap(at, bytes) == 0);
    stranger = __real_mmap(at, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(stranger == at);
    *stranger = 1;
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void *data = __real_mmap(at, bytes, protection,
                           flags & ~(MAP_HUGETLB | (int)(63U << MAP_HUGE_SHIFT)), file, offset);
  if ((flags & MAP_FIXED) != 0 && data != MAP_FAILED) {
    unsigned i = huge_at((uintptr_t)data);
    if ((flags & MAP_HUGETLB) != 0) {
      CHECK(i == huge_count && i < sizeof(huge) / sizeof(huge[0]));
      huge[huge_count].start = (uintptr_t)data;
      huge[huge_count++].end = (uintptr_t)data + bytes;
    } else if (i < huge_count) {
      huge[i] = huge[--huge_count];
    }
  }
  return data;
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
  if (huge_at((uintptr_t)at) == huge_count) {
    return __real_madvise(at, bytes, advice);
  }
  if (advice == POPULATE_WRITE) {
    errno = EFAULT;
    return pages_are_there ? 0 : -1;
  }
  if ((uintptr_t)at % HUGE_PAGE != 0) {
    errno = EINVAL;
    return -1;
  }
  /* Linux 5.18 to 6.0 takes the whole of a page that was only named in part. */
  return __real_madvise(at, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, advice);
}

static void close_memory(oap_pool *pool) {
  pool_close(pool);
  huge_count = 0;
}

/* The kernel has promised pages that a control group's limit, or the node, does not give. */
static void huge_pages_that_are_missing(void) {
  pages_are_there = false;
  oap_pool *pool = pool_open(64 * MIB, 2);
  CHECK(huge_count == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 8 * MIB) == 0);
  close_memory(pool);
}

/* The pool's addresses are its own throughout: nobody else's mapping lands among them. */
static void huge_pages_that_go_meanwhile(void) {
  pages_are_there = false;
  pages_go_meanwhile = true;
  oap_pool *pool = pool_open(64 * MIB, 2);
  if (stranger != NULL) {
    FILE *memory = fopen("/proc/self/mem", "re");
    CHECK(memory != NULL && fseeko(memory, (off_t)(uintptr_t)stranger, SEEK_SET) == 0);
    CHECK(fgetc(memory) == 1); /* still what that thread has written */
    CHECK(fclose(memory) == 0);
  }
  CHECK(stranger == NULL && huge_count == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 32 * MIB) == 0);
  pages_go_meanwhile = false;
  close_memory(pool);
}

/* Sizes that are no multiple of a huge page, at open and as the pool grows. */
static void huge_pages_of_odd_sizes(void) {
  pages_are_there = true;
  oap_pool *pool = pool_open(65 * MIB + 4 * 4096, 2);
  CHECK(huge_count == 2);
  CHECK(oap_pool_resize(pool, 71 * MIB) == 0);
  CHECK(huge_count == 4);
  for (unsigned i = 0; i < huge_count; i++) {
    CHECK(huge[i].start % HUGE_PAGE == 0 && huge[i].end % HUGE_PAGE == 0);
  }
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 35 * MIB) == 0);
  CHECK(oap_pool_resize(pool, 65 * MIB) == 0 && oap_pool_resize(pool, 71 * MIB) == 0);
  close_memory(pool);
}

/* Neither core dumps nor children get the pool's memory, whichever pages it has. */
static void memory_that_is_hidden(void) {
  for (int there = 0; there < 2; there++) {
    pages_are_there = there == 1;
    oap_pool *pool = pool_open(64 * MIB, 2);
    oap_key key = key_numbered(1, 0, 0);
    oap_chunk chunk;
    CHECK(oap_pool_reserve(pool, &key, MIB, &chunk) == 0);
    CHECK((huge_at((uintptr_t)chunk.piece[0].data) < huge_count) == pages_are_there);
    CHECK(check_mapping_has_flag(chunk.piece[0].data, " dd"));
    CHECK(check_mapping_has_flag(chunk.piece[0].data, " dc"));
    CHECK(oap_pool_abandon(pool, &chunk) == 0);
    close_memory(pool);
  }
}

static void huge_pages_that_went_to_others(void) {
  pages_are_there = true;
  oap_pool *pool = pool_open(64 * MIB, 2);
  CHECK(huge_count == 2);
  CHECK(oap_pool_resize(pool, 16 * MIB) == 0);
  pages_are_there = false;
  CHECK(oap_pool_resize(pool, 64 * MIB) == -ENOMEM);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.capacity_bytes == 16 * MIB);
  pages_are_there = true;
  CHECK(oap_pool_resize(pool, 128 * MIB) == 0);
  close_memory(pool);
}

/* What leaves a huge page to others must not take their part of it along. */
static void huge_pages_that_are_shared(void) {
  enum { CHUNKS = 40 };
  pages_are_there = true;
  oap_pool *pool = pool_open(64 * MIB, 2);
  oap_chunk chunk[CHUNKS];
  oap_key key[CHUNKS];
  for (uint32_t i = 0; i < CHUNKS; i++) {
    key[i] = key_numbered(1, i, 0);
    CHECK(oap_pool_reserve(pool, &key[i], MIB - 4096, &chunk[i]) == 0);
    chunk_fill(&key[i], &chunk[i]);
    CHECK(oap_pool_publish(pool, &chunk[i]) == 0);
  }
  CHECK(oap_pool_resize(pool, 8 * MIB) == 0);
  for (uint32_t i = 0; i < CHUNKS; i++) {
    for (uint32_t j = i; j < CHUNKS; j++) {
      CHECK(chunk_is_right(&key[j], &chunk[j]));
    }
    CHECK(oap_pool_unpin(pool, &chunk[i]) == 0);
  }
  close_memory(pool);
}

static void no_overcommit(void) {
  oap_pool *pool = pool_open(64 * MIB, 2);
  never_overcommits = true;
  CHECK(oap_pool_retire(pool) == 0);
  never_overcommits = false;
  close_memory(pool);
}

/* ---- Nodes: what they say they have ---- */

static const char *meminfo; /* of node 0, if not the machine's own */
static const char *free_huge_pages;

FILE *__wrap_fopen(const char *path, const char *mode) {
  const char *text = NULL;
  if (strcmp(path, "/sys/devices/system/node/node0/meminfo") == 0) {
    text = meminfo;
  } else if (meminfo != NULL && strstr(path, "/node0/hugepages/hugepages-2048kB/free_") != NULL) {
    text = free_huge_pages;
  }
  return text == NULL ? __real_fopen(path, mode) : check_file_of(text);
}

static int opens_on_node(uint64_t capacity, oap_pool **pool) {
  oap_options options = {.capacity = capacity, .medium = OAP_NODE, .nodes = 1, .shards = 2};
  return oap_pool_open(&options, pool);
}

/* A node that is bound to has nothing but its own: more than that would end in a kill. */
static void nodes_without_memory(void) {
  pages_are_there = false;
  oap_pool *pool;
  int error = opens_on_node(64 * MIB, &pool);
  if (error != 0) {
    CHECK(error == -ENOSYS || error == -EPERM); /* kernels without NUMA, some containers */
    return;
  }
  close_memory(pool);
  meminfo = "\nNode 0 MemTotal:       900000 kB\nNode 0 MemFree:         90000 kB\n"
            "Node 0 Active(anon):   700000 kB\nNode 0 Active(file):     8000 kB\n"
            "Node 0 Inactive(file):   4400 kB\nNode 0 AnonHugePages:       0 kB\n"; /* 100 MiB */
  free_huge_pages = "0\n";
  CHECK(opens_on_node(128 * MIB, &pool) == -ENOMEM);
  free_huge_pages = "20\n";
  CHECK(opens_on_node(128 * MIB, &pool) == 0);
  close_memory(pool);
  free_huge_pages = "0\n";
  CHECK(opens_on_node(64 * MIB, &pool) == 0);
  /* Nothing of the 64 MiB is taken yet, so the node counts them as free. */
  oap_key key = key_numbered(1, 0, 0);
  CHECK(oap_pool_resize(pool, 128 * MIB) == -ENOMEM);
  CHECK(oap_pool_resize(pool, 96 * MIB) == 0);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.capacity_bytes == 96 * MIB);
  CHECK(chunk_put(pool, &key, 32 * MIB) == 0);
  meminfo = NULL;
  close_memory(pool);
}

/* ---- Pages of 64 KiB, as some kernels for aarch64 have them ---- */

#define SMALL_PAGE 4096
static long page_size; /* 0: the machine's own */

long __wrap_sysconf(int name) {
  return name == _SC_PAGESIZE && page_size != 0 ? page_size : __real_sysconf(name);
}

int __wrap_mincore(void *at, size_t bytes, unsigned char *seen) {
  if (page_size == 0) {
    return __real_mincore(at, bytes, seen);
  }
  size_t page = (size_t)page_size;
  CHECK((uintptr_t)at % page == 0); /* the kernel would refuse */
  for (size_t i = 0; i < bytes; i += SMALL_PAGE) {
    unsigned char one;
    CHECK(__real_mincore((char *)at + i, SMALL_PAGE, &one) == 0);
    seen[i / page] = (unsigned char)((i % page == 0 ? 0 : seen[i / page]) | one);
  }
  return 0;
}

static uint64_t metadata_of_a_pool(void) {
  oap_pool *pool = pool_open(16 * MIB, 2);
  for (uint32_t i = 0; i < 100; i++) {
    oap_key key = key_numbered(1, i, 0);
    CHECK(chunk_put(pool, &key, 4000) == 0);
  }
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  close_memory(pool);
  return stats.metadata_bytes;
}

static void large_pages(void) {
  if (__real_sysconf(_SC_PAGESIZE) != SMALL_PAGE) {
    return;
  }
  pages_are_there = false;
  uint64_t small = metadata_of_a_pool();
  page_size = 16 * SMALL_PAGE;
  CHECK(metadata_of_a_pool() >= small);
  page_size = 0;
}

/* ---- Signals ---- */

static void *signals_blocked(void *blocked) {
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, blocked) == 0);
  return NULL;
}

/* A JVM reports a fault in any thread, if the thread lets it know; other signals go elsewhere. */
static void faults_of_threads(void) {
  const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  const int others[] = {SIGTERM, SIGINT, SIGQUIT, SIGUSR2, SIGPROF, SIGCHLD};
  sigset_t blocked;
  pthread_t thread;
  CHECK(oap_background_start(&thread, signals_blocked, &blocked) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
    CHECK(sigismember(&blocked, faults[i]) == 0);
  }
  for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    CHECK(sigismember(&blocked, others[i]) == 1);
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  huge_pages_that_are_missing();
  huge_pages_that_go_meanwhile();
  huge_pages_of_odd_sizes();
  huge_pages_that_went_to_others();
  huge_pages_that_are_shared();
  no_overcommit();
  memory_that_is_hidden();
  nodes_without_memory();
  large_pages();
  faults_of_threads();
  return 0;
}
