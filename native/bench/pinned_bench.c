/*
 * How long a reservation takes while half of the pool is pinned, against the same without pins: two
 * pools are filled alike, a random half of one is pinned, and both are turned over in turn. Wall
 * clock, in percentiles over all reservations. Exits with 1 when a p99 is above the bar.
 *
 * The last workload has no bar, since its sides do not do the same work: large chunks come to a
 * pool of small ones. Without pins all of them get in; between pinned ones many find no room, after
 * a search.
 */
#include "measure.h"
#include "oap_pool.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BAR 2.0
#define RESERVES 200000
#define IN_TURN 1000

typedef struct workload {
  const char *name;
  uint64_t capacity;
  uint64_t fill_low, fill_high; /* sizes that the pool is filled with: to twice the high one */
  uint64_t low, high;           /* sizes that are reserved then */
  bool has_bar;
} workload;

typedef struct side {
  oap_pool *pool;
  uint64_t random;
  uint64_t number;
  uint64_t refused;
  size_t count;
  double times[RESERVES];
} side;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Even in orders of magnitude, or always the same where there is but one. */
static uint64_t size_of(uint64_t *random, uint64_t low, uint64_t high) {
  uint64_t size = low;
  while (size * 2 <= high && random_next(random) % 6 != 0) {
    size *= 2;
  }
  return low == high ? low : size + random_next(random) % size;
}

static void put(side *s, uint64_t low, uint64_t high) {
  oap_key key = {.file_low = s->number++};
  oap_chunk chunk;
  uint64_t bytes = size_of(&s->random, low, high);
  double start = now();
  int result = oap_pool_reserve(s->pool, &key, bytes, &chunk);
  if (s->count < RESERVES) {
    s->times[s->count++] = (now() - start) * 1e6;
  }
  s->refused += result != 0;
  if (result == 0) {
    oap_pool_publish(s->pool, &chunk);
    oap_pool_unpin(s->pool, &chunk);
  }
}

/* Two of the last thousand are used again, so that the order of leaving is mixed. */
static void use(side *s) {
  for (int i = 0; i < 2; i++) {
    oap_chunk chunk;
    oap_key key = {.file_low = s->number - 1 - random_next(&s->random) % 1000};
    if (oap_pool_pin(s->pool, &key, &chunk) == 0) {
      oap_pool_unpin(s->pool, &chunk);
    }
  }
}

static void fill(side *s, const workload *w) {
  oap_options options = {.capacity = w->capacity, .shards = 1};
  if (oap_pool_open(&options, &s->pool) != 0) {
    perror("open");
    exit(1);
  }
  s->random = 7;
  oap_stats stats;
  do { /* and once more, so that chunks lie as in a pool that has been in use */
    put(s, w->fill_low, w->fill_high);
    oap_pool_stats(s->pool, &stats);
  } while (stats.evicted_bytes < w->capacity);
  s->count = 0;
  s->refused = 0;
}

static void pin_half(side *s, uint64_t capacity, oap_chunk *pinned, size_t *count) {
  uint64_t bytes = 0;
  while (bytes < capacity / 2) {
    oap_key key = {.file_low = random_next(&s->random) % s->number};
    oap_chunk *chunk = &pinned[*count];
    if (oap_pool_pin(s->pool, &key, chunk) == 0) {
      oap_stats stats;
      oap_pool_stats(s->pool, &stats);
      if (stats.pinned_bytes == bytes) { /* twice the same */
        oap_pool_unpin(s->pool, chunk);
        continue;
      }
      bytes = stats.pinned_bytes;
      ++*count;
    }
  }
}

static double percentile(side *s, double part) {
  qsort(s->times, s->count, sizeof(double), compare);
  return s->times[(size_t)((double)(s->count - 1) * part)];
}

static void print(const char *name, side *s, uint64_t evictions) {
  printf("  %-9s p50 %7.2f p99 %7.2f p99.9 %8.2f most %8.1f us; %.1f evicted each, %.4f refused\n",
         name, percentile(s, .5), percentile(s, .99), percentile(s, .999), percentile(s, 1),
         (double)evictions / RESERVES, (double)s->refused / RESERVES);
}

static uint64_t evictions_of(const side *s) {
  oap_stats stats;
  oap_pool_stats(s->pool, &stats);
  return stats.evictions;
}

static bool run(const workload *w) {
  side *sides = calloc(2, sizeof(*sides));
  oap_chunk *pinned = calloc(w->capacity / w->fill_low, sizeof(*pinned));
  size_t pins = 0;
  uint64_t before[2];
  for (int i = 0; i < 2; i++) {
    fill(&sides[i], w);
  }
  pin_half(&sides[1], w->capacity, pinned, &pins);
  for (int i = 0; i < 2; i++) {
    before[i] = evictions_of(&sides[i]);
  }
  for (int r = 0; r < RESERVES / IN_TURN; r++) {
    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < IN_TURN; j++) {
        put(&sides[i], w->low, w->high);
        use(&sides[i]);
      }
    }
  }
  printf("%s\n", w->name);
  print("no pins", &sides[0], evictions_of(&sides[0]) - before[0]);
  print("half", &sides[1], evictions_of(&sides[1]) - before[1]);
  double ratio = percentile(&sides[1], .99) / percentile(&sides[0], .99);
  bool holds = ratio <= BAR || !w->has_bar;
  printf("  p99 %.2f of that without pins; bar %.1f: %s\n", ratio, BAR,
         !w->has_bar ? "none here"
         : holds     ? "held"
                     : "missed");
  for (size_t i = 0; i < pins; i++) {
    oap_pool_unpin(sides[1].pool, &pinned[i]);
  }
  for (int i = 0; i < 2; i++) {
    oap_pool_close(sides[i].pool);
  }
  free(pinned);
  free(sides);
  return holds;
}

int main(void) {
  const uint64_t kib = 1 << 10, mib = 1 << 20;
  const workload workloads[] = {
      {"512 MiB, 32 KiB", 512 * mib, 32 * kib, 32 * kib, 32 * kib, 32 * kib, true},
      {"512 MiB, 1 MiB", 512 * mib, mib, mib, mib, mib, true},
      {"512 MiB, 4 to 128 KiB", 512 * mib, 4 * kib, 64 * kib, 4 * kib, 64 * kib, true},
      {"1 GiB, 64 KiB to 8 MiB", 1024 * mib, 64 * kib, 4 * mib, 64 * kib, 4 * mib, true},
      {"512 MiB, 32 KiB to 2 MiB among 32 KiB", 512 * mib, 32 * kib, 32 * kib, 32 * kib, mib,
       false},
  };
  bool holds = true;
  for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
    holds = run(&workloads[i]) && holds;
  }
  return holds ? 0 : 1;
}
