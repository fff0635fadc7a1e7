/* What the system may answer, or do meanwhile, on machines that are not at hand: the calls go
 * through here, and are answered as kernels, control groups and full disks do. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#define MIB (UINT64_C(1) << 20)
#define HUGE_PAGE (2 * MIB)
#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, which not every system's headers have */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_fallocate(int file, int mode, off_t start, off_t bytes);
int __wrap_fallocate(int file, int mode, off_t start, off_t bytes);
int __real_posix_fallocate(int file, off_t start, off_t bytes);
int __wrap_posix_fallocate(int file, off_t start, off_t bytes);

/* ---- Huge pages: mappings that ask for them get other memory, and its manners ---- */

static struct { uintptr_t start, end; } huge[64];
static unsigned huge_count;
static bool pages_are_there;   /* as many as are reserved */
static bool never_overcommits; /* counts what can be written, and heeds no MAP_NORESERVE */

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

static oap_pool *open_memory(uint64_t capacity) {
  oap_options options = {.capacity = capacity, .shards = 2};
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  return pool;
}

static void close_pool(oap_pool *pool) {
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
  huge_count = 0;
}

/* The kernel has promised pages that a control group's limit, or the node, does not give. */
static void huge_pages_that_are_missing(void) {
  pages_are_there = false;
  oap_pool *pool = open_memory(64 * MIB);
  CHECK(huge_count == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(chunk_put(pool, &key, 8 * MIB) == 0);
  close_pool(pool);
}

static void huge_pages_that_went_to_others(void) {
  pages_are_there = true;
  oap_pool *pool = open_memory(64 * MIB);
  CHECK(huge_count == 2);
  CHECK(oap_pool_resize(pool, 16 * MIB) == 0);
  pages_are_there = false;
  CHECK(oap_pool_resize(pool, 64 * MIB) == -ENOMEM);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.capacity_bytes == 16 * MIB);
  pages_are_there = true;
  CHECK(oap_pool_resize(pool, 128 * MIB) == 0);
  close_pool(pool);
}

/* What leaves a huge page to others must not take their part of it along. */
static void huge_pages_that_are_shared(void) {
  enum { CHUNKS = 40 };
  pages_are_there = true;
  oap_pool *pool = open_memory(64 * MIB);
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
  close_pool(pool);
}

static void no_overcommit(void) {
  oap_pool *pool = open_memory(64 * MIB);
  never_overcommits = true;
  CHECK(oap_pool_retire(pool) == 0);
  never_overcommits = false;
  close_pool(pool);
}

/* ---- Files: which pages of the pool's have disk space ---- */

#define FILE_PAGE UINT64_C(4096)
#define LONGEST (4 * MIB) /* what a signal leaves time for */
static bool reserved[512 * MIB / FILE_PAGE];
static unsigned calls;
static oap_pool *unpin_from; /* once the range where it lies is reserved, or any is given back: */
static oap_chunk unpinned;

static void set_reserved(off_t start, off_t bytes, bool value) {
  for (uint64_t i = (uint64_t)start / FILE_PAGE; i < (uint64_t)(start + bytes) / FILE_PAGE; i++) {
    reserved[i] = value;
  }
}

static void unpin_now(void) {
  if (unpin_from != NULL) {
    oap_pool *pool = unpin_from;
    unpin_from = NULL;
    CHECK(oap_pool_unpin(pool, &unpinned) == 0);
  }
}

int __wrap_posix_fallocate(int file, off_t start, off_t bytes) {
  if (calls++ % 2 == 0 || (uint64_t)bytes > LONGEST) {
    return EINTR; /* as a profiler's signals have it */
  }
  int error = __real_posix_fallocate(file, start, bytes);
  set_reserved(start, bytes, true);
  if ((uint64_t)(start + bytes) >= unpinned.piece[0].position + unpinned.bytes) {
    unpin_now();
  }
  return error;
}

int __wrap_fallocate(int file, int mode, off_t start, off_t bytes) {
  CHECK((mode & FALLOC_FL_PUNCH_HOLE) != 0);
  int error = __real_fallocate(file, mode, start, bytes);
  set_reserved(start, bytes, false);
  unpin_now();
  return error;
}

static uint64_t reserved_bytes(void) {
  uint64_t pages = 0;
  for (uint64_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
    pages += reserved[i];
  }
  return pages * FILE_PAGE;
}

/* A pool of 128 MiB, full of chunks of 4 MiB; the one that lies at 96 MiB is left pinned. */
static oap_pool *open_full_file(void) {
  static const char *shm = "/dev/shm";
  oap_options options = {
      .capacity = 128 * MIB, .medium = OAP_FILE, .paths = &shm, .path_count = 1, .shards = 1};
  memset(reserved, 0, sizeof(reserved));
  unpin_from = NULL;
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  CHECK(reserved_bytes() == options.capacity);
  for (uint32_t i = 0; i < 32; i++) {
    oap_key key = key_numbered(1, i, 0);
    oap_chunk chunk;
    CHECK(oap_pool_reserve(pool, &key, 4 * MIB, &chunk) == 0);
    CHECK(oap_pool_publish(pool, &chunk) == 0);
    if (chunk.piece[0].position == 96 * MIB) {
      unpinned = chunk;
    } else {
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
    }
  }
  CHECK(unpinned.piece[0].position == 96 * MIB);
  return pool;
}

/* The last pin of a chunk that lies above the limit goes while the pool grows over it. */
static void unpinned_while_it_grows(void) {
  oap_pool *pool = open_full_file();
  CHECK(oap_pool_resize(pool, 32 * MIB) == 0);
  CHECK(reserved_bytes() == 36 * MIB);
  unpin_from = pool;
  CHECK(oap_pool_resize(pool, 256 * MIB) == 0);
  CHECK(unpin_from == NULL);
  CHECK(reserved_bytes() == 256 * MIB);
  close_pool(pool);
}

/* The same while it shrinks, between what is before the chunk and what is behind it. */
static void unpinned_while_it_shrinks(void) {
  oap_pool *pool = open_full_file();
  unpin_from = pool;
  CHECK(oap_pool_resize(pool, 32 * MIB) == 0);
  CHECK(unpin_from == NULL);
  CHECK(reserved_bytes() == 32 * MIB);
  close_pool(pool);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  huge_pages_that_are_missing();
  huge_pages_that_went_to_others();
  huge_pages_that_are_shared();
  no_overcommit();
  unpinned_while_it_grows();
  unpinned_while_it_shrinks();
  return 0;
}
