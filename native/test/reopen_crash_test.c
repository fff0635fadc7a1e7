/* A pool that outlives its process: processes that do random things with it are killed at random
 * instants, and each next one finds a valid pool in which every hit is right. So it does when the
 * pages of its files are any mix of older and newer ones, as after a failure of power. */
#include "home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEYS 96
#define HELD 12
#define PAGE 4096

/* Shared with the child. */
typedef struct shared {
  volatile uint64_t operations;
  uint64_t random;
  oap_options options;
  uint64_t reopened;
  uint64_t hits;
  uint64_t damaged;
} shared;

static shared *m;

/* Some keys share a file; every third is of another representation. */
static oap_key key_of(uint32_t k) {
  oap_key key = key_numbered(k / 16, k % 5, k);
  key.representation = k % 3 == 0 ? (uint64_t)OAP_VECTOR_CHUNK << OAP_KIND_SHIFT | k : 0;
  return key;
}

/* Which of two contents a chunk of that length has: its note says so, and is hashed, too. */
static void fill(const oap_key *key, const oap_chunk *chunk, oap_pool *pool) {
  chunk_fill(key, chunk);
  CHECK(oap_pool_set_note(pool, chunk, chunk->bytes ^ key->column) == 0);
}

static void check_hit(oap_pool *pool, const oap_key *key, const oap_chunk *chunk) {
  uint64_t note;
  CHECK(chunk_is_right(key, chunk));
  CHECK(oap_pool_note(pool, chunk, &note) == 0 && note == (chunk->bytes ^ key->column));
}

static void end_one(oap_pool *pool, oap_chunk *held, unsigned *count) {
  unsigned i = (unsigned)random_below(&m->random, *count);
  CHECK(oap_pool_unpin(pool, &held[i]) == 0);
  held[i] = held[--*count];
}

static void load(oap_pool *pool, const oap_key *key, oap_chunk *held, unsigned *count) {
  oap_chunk *chunk = &held[*count];
  uint64_t bytes = random_size(&m->random, 1, m->options.capacity / 6);
  int result = oap_pool_reserve(pool, key, bytes, chunk);
  if (result != 0) {
    CHECK(result == -EEXIST || result == -ENOSPC || result == -EFBIG);
  } else if (random_below(&m->random, 8) == 0) {
    CHECK(oap_pool_abandon(pool, chunk) == 0);
  } else {
    fill(key, chunk, pool);
    CHECK(oap_pool_publish(pool, chunk) == 0);
    (*count)++;
  }
}

/* The child: goes on until it is killed. */
static void operate(void *argument) {
  (void)argument;
  oap_pool *pool;
  oap_chunk held[HELD];
  unsigned count = 0;
  home_open(&m->options, &pool);
  for (;;) {
    oap_key key = key_of((uint32_t)random_below(&m->random, KEYS));
    uint64_t choice = random_below(&m->random, 1000);
    if (count == HELD || (count > 0 && choice < 300)) {
      end_one(pool, held, &count);
    } else if (choice < 600) {
      load(pool, &key, held, &count);
    } else if (choice < 960) {
      if (oap_pool_pin(pool, &key, &held[count]) == 0) {
        check_hit(pool, &key, &held[count]);
        count++;
      }
    } else if (choice < 985) {
      oap_pool_drop(pool, &key);
    } else if (choice < 990) {
      oap_pool_drop_file(pool, key.file_high, key.file_low);
    } else if (choice < 998) {
      uint64_t more = random_below(&m->random, 2) * random_below(&m->random, m->options.capacity);
      CHECK(oap_pool_resize(pool, m->options.capacity + more) == 0);
    } else {
      oap_pool_clear(pool);
    }
    m->operations++;
  }
}

/* What is found is right, and what is left of it after this is a valid pool. */
static void check_what_is_there(void) {
  oap_pool *pool;
  m->reopened += home_open(&m->options, &pool);
  for (uint32_t k = 0; k < KEYS; k++) {
    oap_key key = key_of(k);
    bool was_held = oap_pool_is_held(pool, &key);
    oap_chunk chunk;
    if (oap_pool_pin(pool, &key, &chunk) == 0) {
      CHECK(was_held);
      check_hit(pool, &key, &chunk);
      m->hits++;
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
    } else {
      CHECK(!oap_pool_is_held(pool, &key));
    }
  }
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  m->damaged += stats.damaged;
  pool_close(pool);
}

/* ---- Torn pages ---- */

typedef struct copy {
  unsigned char *bytes;
  size_t length;
} copy;

static copy read_file(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  CHECK(fd >= 0 && fstat(fd, &status) == 0);
  copy c = {.bytes = malloc((size_t)status.st_size), .length = (size_t)status.st_size};
  CHECK(c.bytes != NULL && pread(fd, c.bytes, c.length, 0) == (ssize_t)c.length);
  CHECK(close(fd) == 0);
  return c;
}

/* Puts some of the older pages back, and now and then one that is neither. */
static void tear(const char *path, const copy *older) {
  int fd = open(path, O_RDWR | O_CLOEXEC);
  CHECK(fd >= 0);
  uint64_t one_in = 1 + random_below(&m->random, 6);
  for (size_t at = 0; at < older->length; at += PAGE) {
    if (random_below(&m->random, one_in) == 0) {
      size_t length = older->length - at < PAGE ? older->length - at : PAGE;
      CHECK(pwrite(fd, older->bytes + at, length, (off_t)at) == (ssize_t)length);
    }
    if (at >= 65536 && random_below(&m->random, 2000) == 0) {
      uint64_t noise = random_next(&m->random);
      CHECK(pwrite(fd, &noise, sizeof(noise), (off_t)(at + random_below(&m->random, PAGE - 8))) ==
            8);
    }
  }
  CHECK(close(fd) == 0);
}

static void torn_pages(void) {
  oap_pool *pool;
  home_open(&m->options, &pool);
  char meta[600], data[600];
  snprintf(meta, sizeof(meta), "%s", home_file(pool, ".meta"));
  snprintf(data, sizeof(data), "%s", home_file(pool, ".data"));
  pool_close(pool);
  copy older[] = {read_file(meta), read_file(data)};
  home_run_and_kill(operate, NULL, &m->operations, (unsigned)random_below(&m->random, 3000));
  tear(meta, &older[0]);
  tear(data, &older[1]);
  free(older[0].bytes);
  free(older[1].bytes);
  check_what_is_there();
}

static void run(uint64_t seed, const char *policy) {
  m->random = seed;
  home_clear();
  m->options = home_options((UINT64_C(1) << 16) + PAGE * random_below(&m->random, 32));
  m->options.policy = policy;
  m->options.shards = random_below(&m->random, 4) == 0 ? 2 : 1;
  m->options.capacity *= m->options.shards;
  for (int round = 0; round < 8; round++) {
    uint64_t random = random_next(&m->random);
    home_run_and_kill(operate, NULL, &m->operations, (unsigned)random_below(&m->random, 1500));
    m->random = random; /* whatever the child has done */
    check_what_is_there();
  }
  torn_pages();
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(m != MAP_FAILED);
  static const char *const policies[] = {"s3fifo", "generations", "lru"};
  uint64_t first = check_seed;
  uint64_t runs = check_runs(check_is_threadsan() ? 10 : 40);
  for (uint64_t i = 0; i < runs; i++) {
    check_seed = first + i;
    run(check_seed, policies[i % 3]);
  }
  printf("%llu reopened, %llu hits, %llu damaged\n", (unsigned long long)m->reopened,
         (unsigned long long)m->hits, (unsigned long long)m->damaged);
  CHECK(m->reopened >= runs * 8 && m->hits > runs * 8);
  return 0;
}
