/* What every test uses: a check that names its place and the seed, a random source, and chunk
 * contents that are a function of key and length, so that every read verifies itself. */
#ifndef OAP_CHECK_H
#define OAP_CHECK_H

#include "oap_pool.h"
#include "random.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern uint64_t check_seed;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: failed with seed %llu: %s\n", __FILE__, __LINE__,                    \
              (unsigned long long)check_seed, #condition);                                         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* Of what names a fault, or NULL. */
#define CHECK_NO_FAULT(fault)                                                                      \
  do {                                                                                             \
    const char *fault_ = (fault);                                                                  \
    if (fault_ != NULL) {                                                                          \
      fprintf(stderr, "%s:%d: invalid with seed %llu: %s\n", __FILE__, __LINE__,                   \
              (unsigned long long)check_seed, fault_);                                             \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

#define CHECK_VALID(pool) CHECK_NO_FAULT(oap_pool_validate(pool))

static inline uint64_t random_below(uint64_t *state, uint64_t bound) {
  return random_next(state) % bound;
}

/* Between low and high, all orders of magnitude alike; odd sizes and exact powers both come. */
static inline uint64_t random_size(uint64_t *state, uint64_t low, uint64_t high) {
  uint64_t size = high;
  for (uint64_t doublings = random_below(state, 64); doublings > 0 && size / 2 >= low;
       doublings--) {
    size /= 2;
  }
  return random_below(state, 4) == 0 ? size : low + random_below(state, size - low + 1);
}

/* The seed: the first argument, else the environment's OAP_SEED, else the clock. Printed. */
static inline void check_start(int argc, char **argv) {
  const char *given = argc > 1 ? argv[1] : getenv("OAP_SEED");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  check_seed = given != NULL ? strtoull(given, NULL, 10)
                             : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
  printf("%s: seed %llu\n", argv[0], (unsigned long long)check_seed);
  fflush(stdout);
}

/* Runs of a test: the environment's OAP_RUNS, or so many. */
static inline uint64_t check_runs(uint64_t usual) {
  const char *given = getenv("OAP_RUNS");
  return given != NULL ? strtoull(given, NULL, 10) : usual;
}

/* Where a test's pools lie: see media_test.c. One shard's worth unless the test says otherwise. */
oap_options check_options(uint64_t capacity);

/* Under Valgrind, as dev/native-test says, which does not answer like the system to a mapping
 * larger than the address space. */
bool check_is_memcheck(void);

/* Under ThreadSanitizer, where what one thread does alone is slow and nothing is learned of it. */
bool check_is_threadsan(void);

/* Under AddressSanitizer, where what only takes long, and touches no other memory, teaches nothing.
 */
bool check_is_addresssan(void);

/* Whether a process that has threads may start another one that has: ThreadSanitizer forbids it. */
static inline bool check_may_fork(void) { return !check_is_threadsan(); }

/* Starts a child, which is killed when this process ends. Waits for the other threads first: a
 * child has the locks that they hold, as closed as they are, and nobody to open them, such as the
 * one of AddressSanitizer's allocator, which a thread takes when it starts. */
pid_t check_fork(void);

/* Whether the VmFlags of /proc/self/smaps have this one, such as " dd", for the mapping of an
 * address. */
bool check_mapping_has_flag(const void *address, const char *flag);

/* A file with such a content, to be read from its start. */
FILE *check_file_of(const char *text);

/* A pool in memory of so many shards; 0: as many as it chooses. */
oap_pool *pool_open(uint64_t capacity, uint32_t shards);

/* Closes a pool that must be valid and have no pins. */
void pool_close(oap_pool *pool);

oap_key key_numbered(uint64_t file, uint32_t row_group, uint32_t column);
void chunk_fill(const oap_key *key, const oap_chunk *chunk);
bool chunk_is_right(const oap_key *key, const oap_chunk *chunk);

/* Reserves, fills, publishes and unpins; the result of reserve. */
int chunk_put(oap_pool *pool, const oap_key *key, uint64_t bytes);

#endif
