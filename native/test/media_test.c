/* A pool on the medium that the machine has to offer: OAP_TEST_MEDIUM is dram (the default), node,
 * file, fsdax or devdax, OAP_TEST_PATH its directory or device, OAP_TEST_NODE its node. It is
 * filled many times over, resized, shown to lie where it was asked for, and the medium's own
 * refusals come. dev/pool-vm runs this on persistent memory and on several nodes. There
 * OAP_TEST_FAULT says what is wrong with the medium: bad-blocks or lost-writes. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A device hands out large parts, of which a quarter of the pool has to have some. */
#define CAPACITY (UINT64_C(64) << 20)
#define IN_MEMORY (CAPACITY / 4)

static void fill_many_times(oap_pool *pool, uint64_t capacity, uint64_t most, uint64_t seed) {
  uint64_t random = seed;
  uint64_t put = 0;
  uint64_t hits = 0;
  for (uint32_t i = 0; put < 3 * capacity; i++) {
    oap_key key = key_numbered(seed, i / 64, i % 64);
    uint64_t bytes = random_size(&random, 1, most);
    CHECK(chunk_put(pool, &key, bytes) == 0);
    put += bytes;
    oap_key before = key_numbered(seed, (i - i % 5) / 64, (i - i % 5) % 64);
    oap_chunk chunk;
    if (oap_pool_pin(pool, &before, &chunk) == 0) {
      CHECK(chunk_is_right(&before, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
      hits++;
    }
  }
  CHECK(hits > 0);
  CHECK_VALID(pool);
}

static void lies_on_node(oap_pool *pool, unsigned node) {
  uint64_t bytes[OAP_MOST_NODES];
  CHECK(oap_pool_nodes(pool, bytes) == 0);
  for (unsigned n = 0; n < OAP_MOST_NODES; n++) {
    CHECK((n == node) == (bytes[n] > 0));
  }
  printf("%llu MiB on node %u\n", (unsigned long long)bytes[node] >> 20, node);
  /* And by an independent count, if the machine has it. */
  char command[64];
  snprintf(command, sizeof(command), "numastat -p %d 2>/dev/null", (int)getpid());
  fflush(stdout);
  CHECK(system(command) != -1);
}

static void other_process_is_refused(const oap_options *options) {
  pid_t child = check_fork();
  if (child == 0) {
    oap_pool *second;
    _exit(oap_pool_open(options, &second) == -EBUSY ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Whether a part of the pool is mapped elsewhere in its file than where it lies in the pool. */
static bool has_moved_parts(const oap_pool *pool) {
  unsigned char *data;
  uint64_t bytes;
  CHECK(oap_pool_window(pool, 0, &data, &bytes));
  FILE *maps = fopen("/proc/self/maps", "re");
  CHECK(maps != NULL);
  char line[512];
  bool moved = false;
  while (fgets(line, sizeof(line), maps) != NULL) {
    unsigned long long start, end, offset;
    CHECK(sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3);
    moved |= start >= (uintptr_t)data && start < (uintptr_t)data + bytes &&
             offset != start - (uintptr_t)data;
  }
  CHECK(fclose(maps) == 0);
  return moved;
}

/* Whether a device has nothing but zeros, as far as pools of this test can reach. */
static bool is_erased(const oap_options *options) {
  size_t bytes = OAP_MOST_GROWTH * CAPACITY;
  int file = open(options->paths[0], O_RDWR | O_CLOEXEC);
  CHECK(file >= 0);
  const uint64_t *words = mmap(NULL, bytes, PROT_READ, MAP_SHARED, file, 0);
  CHECK(words != MAP_FAILED);
  bool erased = true;
  for (size_t i = 0; i < bytes / sizeof(*words) && erased; i++) {
    erased = words[i] == 0;
  }
  CHECK(munmap((void *)(uintptr_t)words, bytes) == 0 && close(file) == 0);
  return erased;
}

static bool has_fault(const char *name) {
  const char *fault = getenv("OAP_TEST_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

static void use(oap_options options) {
  oap_pool *pool;
  int error = oap_pool_open(&options, &pool);
  if (error != 0) {
    fprintf(stderr, "cannot open: %s\n", strerror(-error));
    exit(1);
  }
  uint64_t most = options.capacity / 16;
  fill_many_times(pool, options.capacity, most, check_seed);
  oap_key key = key_numbered(1, 1, 1);
  oap_chunk chunk;
  CHECK(oap_pool_reserve(pool, &key, most / 4, &chunk) == 0);
  chunk_fill(&key, &chunk);
  /* Faults that wait for the journal, MAP_SYNC, are of no use to a file without a name. */
  CHECK(!check_mapping_has_flag(chunk.piece[0].data, " sf"));
  CHECK(check_mapping_has_flag(chunk.piece[0].data, " dd")); /* in no core dump */
  CHECK(check_mapping_has_flag(chunk.piece[0].data, " dc")); /* in no child */
  if (options.medium == OAP_FSDAX) {
    CHECK(has_moved_parts(pool) == has_fault("bad-blocks"));
  }
  if (options.medium == OAP_NODE && !options.interleave) {
    lies_on_node(pool, (unsigned)__builtin_ctzll(options.nodes));
  }
  if (options.medium == OAP_DEVDAX) {
    other_process_is_refused(&options);
  }
  CHECK(oap_pool_publish(pool, &chunk) == 0);
  CHECK(oap_pool_resize(pool, 2 * options.capacity) == 0);
  CHECK_VALID(pool);
  fill_many_times(pool, 2 * options.capacity, most, check_seed + 1);
  CHECK(oap_pool_resize(pool, options.capacity / 4) == 0);
  CHECK(chunk_is_right(&key, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
  fill_many_times(pool, options.capacity / 4, most, check_seed + 2);
  CHECK(oap_pool_retire(pool) == 0);
  CHECK_VALID(pool);
  CHECK(options.medium != OAP_DEVDAX || is_erased(&options) == options.erase);
  CHECK(oap_pool_close(pool) == 0);
}

/* A disk that loses what is written to it: the pool learns of it, and is of no more use. */
static void lose_writes(oap_options options) {
  options.capacity = UINT64_C(300) << 20; /* more than the disk takes */
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  int error = 0;
  for (uint32_t i = 0; i < 70 && error == 0; i++) {
    oap_key key = key_numbered(1, i, 0);
    error = chunk_put(pool, &key, 4 << 20);
  }
  CHECK(error == 0 || error == -ESHUTDOWN);
  sync();
  oap_stats stats = {.lost_writes = 0};
  for (int i = 0; i < 10000 && (stats.lost_writes == 0 || stats.chunks > 0); i++) {
    usleep(1000);
    oap_pool_stats(pool, &stats);
  }
  CHECK(stats.lost_writes > 0 && stats.chunks == 0 && oap_pool_has_lost_writes(pool));
  oap_chunk chunk;
  oap_key key = key_numbered(2, 0, 0);
  CHECK(oap_pool_reserve(pool, &key, 1, &chunk) == -ESHUTDOWN);
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
}

/* All memory that a node has, of which a part is always taken. */
static uint64_t bytes_of_node(unsigned node) {
  char line[128];
  snprintf(line, sizeof(line), "/sys/devices/system/node/node%u/meminfo", node);
  FILE *file = fopen(line, "re");
  CHECK(file != NULL);
  unsigned long long kibibytes = 0;
  while (kibibytes == 0 && fgets(line, sizeof(line), file) != NULL) {
    sscanf(line, "Node %*u MemTotal: %llu", &kibibytes);
  }
  CHECK(fclose(file) == 0 && kibibytes > 0);
  return kibibytes * 1024;
}

/* More than there is: refused at open, not by a signal later. */
static void too_much(oap_options options) {
  oap_pool *pool;
  options.capacity = UINT64_C(1) << 46;
  int error = oap_pool_open(&options, &pool);
  CHECK(options.path_count > 0 ? error == -ENOSPC : error == -ENOMEM || check_is_memcheck());
  CHECK(error != 0);
  if (options.medium == OAP_NODE) {
    options.capacity = bytes_of_node((unsigned)__builtin_ctzll(options.nodes));
    CHECK(oap_pool_open(&options, &pool) == -ENOMEM);
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  oap_options options = check_options(CAPACITY);
  if (options.medium == OAP_DRAM) {
    options.capacity = IN_MEMORY;
  }
  if (has_fault("lost-writes")) {
    lose_writes(options);
    return 0;
  }
  use(options);
  too_much(options);
  options.erase = options.medium == OAP_DEVDAX;
  options.shards = 4;
  use(options);
  if (options.medium == OAP_NODE) {
    options.interleave = true;
    use(options);
  }
  return 0;
}
