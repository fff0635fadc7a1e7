/* A pool on the medium that the machine has to offer: OAP_TEST_MEDIUM is dram (the default), node,
 * file, fsdax or devdax, OAP_TEST_PATH its directory or device, OAP_TEST_NODE its node. It is
 * filled many times over, resized, shown to lie where it was asked for, and the medium's own
 * refusals come. dev/pool-vm runs this on persistent memory and on several nodes. */
#include "check.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(64) << 20)

static void fill_many_times(oap_pool *pool, uint64_t capacity, uint64_t seed) {
  uint64_t random = seed;
  uint64_t put = 0;
  uint64_t hits = 0;
  for (uint32_t i = 0; put < 3 * capacity; i++) {
    oap_key key = key_numbered(seed, i / 64, i % 64);
    uint64_t bytes = random_size(&random, 1, 4 << 20);
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

/* A line of /proc/self/smaps for the mapping of an address: whether its VmFlags have that one. */
static bool mapping_has_flag(const void *address, const char *flag) {
  FILE *smaps = fopen("/proc/self/smaps", "re");
  CHECK(smaps != NULL);
  char line[512];
  bool inside = false, found = false;
  while (fgets(line, sizeof(line), smaps) != NULL) {
    unsigned long long start, end;
    if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
      inside = start <= (uintptr_t)address && (uintptr_t)address < end;
    } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
      found |= strstr(line, flag) != NULL;
    }
  }
  CHECK(fclose(smaps) == 0);
  return found;
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
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    oap_pool *second;
    _exit(oap_pool_open(options, &second) == -EBUSY ? 0 : 1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void use(oap_options options) {
  oap_pool *pool;
  int error = oap_pool_open(&options, &pool);
  if (error != 0) {
    fprintf(stderr, "cannot open: %s\n", strerror(-error));
    exit(1);
  }
  fill_many_times(pool, options.capacity, check_seed);
  oap_key key = key_numbered(1, 1, 1);
  oap_chunk chunk;
  CHECK(oap_pool_reserve(pool, &key, 1 << 20, &chunk) == 0);
  chunk_fill(&key, &chunk);
  if (options.medium == OAP_FSDAX) {
    CHECK(mapping_has_flag(chunk.piece[0].data, " sf")); /* faults are synchronous: MAP_SYNC */
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
  fill_many_times(pool, 2 * options.capacity, check_seed + 1);
  CHECK(oap_pool_resize(pool, options.capacity / 4) == 0);
  CHECK(chunk_is_right(&key, &chunk) && oap_pool_unpin(pool, &chunk) == 0);
  fill_many_times(pool, options.capacity / 4, check_seed + 2);
  CHECK(oap_pool_retire(pool) == 0);
  CHECK_VALID(pool);
  CHECK(oap_pool_close(pool) == 0);
}

/* More than there is: refused at open, not by a signal later. */
static void too_much(oap_options options) {
  oap_pool *pool;
  options.capacity = UINT64_C(1) << 46;
  int error = oap_pool_open(&options, &pool);
  CHECK(options.path_count > 0 ? error == -ENOSPC : error == -ENOMEM || check_is_memcheck());
  CHECK(error != 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  oap_options options = check_options(CAPACITY);
  use(options);
  too_much(options);
  options.shards = 4;
  use(options);
  if (options.medium == OAP_NODE) {
    options.interleave = true;
    use(options);
  }
  return 0;
}
