/*
 * How fast the pool is, in ratios to memcpy from the same mapping in the same run, so that numbers
 * of different machines can be compared. Medians of several rounds.
 *
 *   read     pin and read every byte, against a copying get and reading the copy, which lies in one
 *            buffer that is used for every chunk, and in the next of BUFFERS, as of a reader that
 *            holds several columns; and against reading the same memory without the pool
 *   get      pin and copy out, against memcpy out of the same memory
 *   put      reserve with eviction, copy in, publish; against memcpy to where the puts went, in the
 *            same order
 *   pin      pin and unpin alone, nanoseconds
 *   tail     percentiles of a pin of 1 KiB while another thread evicts
 *   threads  pins per second with 1, 2 and 64 threads
 */
#include "measure.h"
#include "oap_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CAPACITY (UINT64_C(1) << 29)
#define ROUNDS 7

static uint64_t state = 7;
static volatile uint64_t sink;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static oap_pool *open_pool(void) {
  oap_pool *pool;
  oap_options options = {.capacity = CAPACITY};
  if (oap_pool_open(&options, &pool) != 0) {
    perror("open");
    exit(1);
  }
  return pool;
}

static bool put(oap_pool *pool, uint64_t number, uint64_t bytes, const unsigned char *from) {
  oap_key key = {.file_low = number};
  oap_chunk chunk;
  if (oap_pool_reserve(pool, &key, bytes, &chunk) != 0) {
    return false;
  }
  oap_chunk_fill(&chunk, from);
  oap_pool_publish(pool, &chunk);
  oap_pool_unpin(pool, &chunk);
  return true;
}

static void pin(oap_pool *pool, uint64_t number, oap_chunk *chunk) {
  oap_key key = {.file_low = number};
  if (oap_pool_pin(pool, &key, chunk) != 0) {
    fprintf(stderr, "chunk %llu is gone\n", (unsigned long long)number);
    exit(1);
  }
}

/* Four sums, so that the memory is what limits it. */
#if defined(__x86_64__)
__attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
static uint64_t
read_all(const unsigned char *data, uint64_t bytes) {
  uint64_t sum[4] = {0};
  for (uint64_t i = 0; i + 32 <= bytes; i += 32) {
    uint64_t words[4];
    memcpy(words, data + i, 32);
    for (int j = 0; j < 4; j++) {
      sum[j] += words[j];
    }
  }
  return sum[0] + sum[1] + sum[2] + sum[3];
}

/* Columns that a reader holds at a time. */
#define BUFFERS 64

typedef struct shape {
  oap_pool *pool;
  uint64_t bytes;
  uint64_t chunks;
  unsigned char *buffers;
  unsigned char **put_to; /* where the chunk of each put lies */
} shape;

/* Each of these goes once over every chunk, in random order, and returns bytes per second. */
static double rate(const shape *s, void (*visit)(const shape *, uint64_t)) {
  uint64_t order = random_next(&state) | 1;
  double start = cpu_now();
  for (uint64_t i = 0; i < s->chunks; i++) {
    visit(s, (i * order) & (s->chunks - 1));
  }
  return (double)(s->chunks * s->bytes) / (cpu_now() - start);
}

static void pin_and_read(const shape *s, uint64_t number) {
  oap_chunk chunk;
  pin(s->pool, number, &chunk);
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    sink += read_all(chunk.piece[i].data, chunk.piece[i].bytes);
  }
  oap_pool_unpin(s->pool, &chunk);
}

static void get_into(const shape *s, uint64_t number, unsigned char *buffer) {
  oap_chunk chunk;
  pin(s->pool, number, &chunk);
  oap_chunk_copy(&chunk, buffer);
  oap_pool_unpin(s->pool, &chunk);
}

static void get(const shape *s, uint64_t number) { get_into(s, number, s->buffers); }

static void get_and_read(const shape *s, uint64_t number) {
  get(s, number);
  sink += read_all(s->buffers, s->bytes);
}

static void get_and_read_several(const shape *s, uint64_t number) {
  static uint64_t turn;
  unsigned char *buffer = s->buffers + turn++ % BUFFERS * s->bytes;
  get_into(s, number, buffer);
  sink += read_all(buffer, s->bytes);
}

static unsigned char *place(const shape *s, uint64_t number) {
  unsigned char *data;
  uint64_t bytes;
  oap_pool_window(s->pool, 0, &data, &bytes);
  return data + number * s->bytes;
}

static void read_place(const shape *s, uint64_t number) {
  sink += read_all(place(s, number), s->bytes);
}

static void memcpy_out(const shape *s, uint64_t number) {
  memcpy(s->buffers, place(s, number), s->bytes);
}

static uint64_t fresh = UINT64_C(1) << 40;
static uint64_t puts_done;

static void evicting_put(const shape *s, uint64_t number) {
  (void)number;
  oap_key key = {.file_low = fresh++};
  oap_chunk chunk;
  if (oap_pool_reserve(s->pool, &key, s->bytes, &chunk) != 0) {
    exit(1);
  }
  oap_chunk_fill(&chunk, s->buffers);
  oap_pool_publish(s->pool, &chunk);
  s->put_to[puts_done++ % s->chunks] = chunk.piece[0].data;
  oap_pool_unpin(s->pool, &chunk);
}

/* Ruins the contents behind the pool's back; only sizes matter here. */
static void memcpy_in(const shape *s, uint64_t number) {
  (void)number;
  memcpy(s->put_to[puts_done++ % s->chunks], s->buffers, s->bytes);
}

static shape filled(uint64_t bytes) {
  shape s = {.pool = open_pool(), .bytes = bytes, .chunks = CAPACITY / bytes};
  s.buffers = aligned_alloc(64, BUFFERS * bytes);
  s.put_to = calloc(s.chunks, sizeof(*s.put_to));
  memset(s.buffers, 1, BUFFERS * bytes);
  for (uint64_t i = 0; i < s.chunks; i++) {
    put(s.pool, i, bytes, s.buffers);
  }
  return s;
}

static void sizes(uint64_t bytes) {
  shape s = filled(bytes);
  double one[ROUNDS], several[ROUNDS], bare[ROUNDS], gets[ROUNDS], puts[ROUNDS], copies[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double pinned = rate(&s, pin_and_read);
    one[r] = pinned / rate(&s, get_and_read);
    several[r] = pinned / rate(&s, get_and_read_several);
    bare[r] = pinned / rate(&s, read_place);
    copies[r] = rate(&s, memcpy_out);
    gets[r] = rate(&s, get) / copies[r];
  }
  for (int r = 0; r < ROUNDS; r++) {
    puts_done = 0;
    double speed = rate(&s, evicting_put);
    puts_done = 0;
    puts[r] = speed / rate(&s, memcpy_in);
  }
  printf("%5llu KiB: pin+read / get+read %.2f with one buffer, %.2f with %d, / read %.2f; get / "
         "memcpy %.2f; evicting put / memcpy %.2f (memcpy %.1f GB/s)\n",
         (unsigned long long)bytes >> 10, median(one, ROUNDS), median(several, ROUNDS), BUFFERS,
         median(bare, ROUNDS), median(gets, ROUNDS), median(puts, ROUNDS),
         median(copies, ROUNDS) / 1e9);
  oap_pool_close(s.pool);
  free(s.buffers);
  free(s.put_to);
}

static double pin_nanoseconds(uint64_t keys) {
  oap_pool *pool = open_pool();
  unsigned char kilobyte[1024] = {0};
  for (uint64_t i = 0; i < keys; i++) {
    put(pool, i, sizeof(kilobyte), kilobyte);
  }
  double rounds[ROUNDS];
  enum { PINS = 1000000 };
  for (int r = 0; r < ROUNDS; r++) {
    uint64_t random = (uint64_t)r;
    double start = cpu_now();
    for (int i = 0; i < PINS; i++) {
      oap_chunk chunk;
      pin(pool, random_next(&random) % keys, &chunk);
      oap_pool_unpin(pool, &chunk);
    }
    rounds[r] = (cpu_now() - start) / PINS * 1e9;
  }
  oap_pool_close(pool);
  return median(rounds, ROUNDS);
}

static _Atomic bool stop;

static void *evict_all_the_time(void *pool) {
  unsigned char *buffer = calloc(1, 1 << 20);
  for (uint64_t i = 0; !stop; i++) {
    put(pool, (UINT64_C(1) << 41) + i, 1 << 20, buffer);
  }
  free(buffer);
  return NULL;
}

static void tail(void) {
  enum { PINS = 2000000, HOT = 1000 };
  oap_pool *pool = open_pool();
  unsigned char kilobyte[1024] = {0};
  oap_chunk held[HOT];
  for (uint64_t i = 0; i < HOT; i++) {
    put(pool, i, sizeof(kilobyte), kilobyte);
    pin(pool, i, &held[i]); /* so that none is evicted */
  }
  pthread_t thread;
  pthread_create(&thread, NULL, evict_all_the_time, pool);
  double *times = malloc(PINS * sizeof(*times));
  for (int i = 0; i < PINS; i++) {
    oap_chunk chunk;
    double start = now();
    pin(pool, random_next(&state) % HOT, &chunk);
    oap_pool_unpin(pool, &chunk);
    times[i] = (now() - start) * 1e6;
  }
  stop = true;
  pthread_join(thread, NULL);
  qsort(times, PINS, sizeof(*times), compare);
  printf("pin of 1 KiB while another evicts, microseconds: p50 %.3f p99 %.3f p99.9 %.3f p99.99 "
         "%.3f most %.1f\n",
         times[PINS / 2], times[PINS / 100 * 99], times[PINS / 1000 * 999],
         times[PINS / 10000 * 9999], times[PINS - 1]);
  free(times);
  for (uint64_t i = 0; i < HOT; i++) {
    oap_pool_unpin(pool, &held[i]);
  }
  oap_pool_close(pool);
}

typedef struct worker {
  oap_pool *pool;
  uint64_t pins;
  uint64_t random;
} worker;

static void *pin_many(void *argument) {
  worker *w = argument;
  for (uint64_t i = 0; i < w->pins; i++) {
    oap_chunk chunk;
    oap_key key = {.file_low = random_next(&w->random) % 4096};
    if (oap_pool_pin(w->pool, &key, &chunk) == 0) {
      oap_pool_unpin(w->pool, &chunk);
    } else if (oap_pool_reserve(w->pool, &key, 1 << 17, &chunk) == 0) {
      oap_pool_publish(w->pool, &chunk);
      oap_pool_unpin(w->pool, &chunk);
    }
  }
  return NULL;
}

static double threads_rate(unsigned threads, uint64_t pins) {
  oap_pool *pool = open_pool();
  pthread_t ids[64];
  worker workers[64];
  double rounds[ROUNDS];
  for (int r = 0; r < ROUNDS; r++) {
    double start = now();
    for (unsigned t = 0; t < threads; t++) {
      workers[t] = (worker){.pool = pool, .pins = pins / threads, .random = t * 977 + (uint64_t)r};
      pthread_create(&ids[t], NULL, pin_many, &workers[t]);
    }
    for (unsigned t = 0; t < threads; t++) {
      pthread_join(ids[t], NULL);
    }
    rounds[r] = (double)pins / (now() - start) / 1e6;
  }
  oap_pool_close(pool);
  return median(rounds, ROUNDS);
}

int main(void) {
  sizes(32 << 10);
  sizes(256 << 10);
  sizes(1 << 20);
  printf("pin and unpin: %.0f ns among 1000 chunks, %.0f ns among 100000\n", pin_nanoseconds(1000),
         pin_nanoseconds(100000));
  tail();
  double one = threads_rate(1, 4000000), two = threads_rate(2, 4000000);
  double many = threads_rate(64, 4000000);
  printf("million pins per second: 1 thread %.1f, 2 threads %.1f, 64 threads %.1f (%.2f of 2)\n",
         one, two, many, many / two);
  return 0;
}
