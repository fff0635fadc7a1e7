/* The race of the policies: byte hit ratio on made traces, and on recorded ones given as files
 * (one line per ask: file, row group, column and bytes as numbers). The pool's memory is never
 * touched, so a race over terabytes takes seconds. Recorded traces are also replayed through
 * Belady's rule, which knows the future. */
#include "oap_pool.h"
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CAPACITY (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

typedef struct ask {
  uint64_t file;
  uint32_t row_group;
  uint32_t column;
  uint64_t bytes;
  bool hot; /* counted apart */
} ask;

typedef struct trace {
  const char *name;
  ask *asks;
  size_t count;
  size_t room;
} trace;

static uint64_t state;

static void add(trace *t, ask a) {
  if (t->count == t->room) {
    t->room = t->room == 0 ? 1024 : 2 * t->room;
    t->asks = realloc(t->asks, t->room * sizeof(*t->asks));
    if (t->asks == NULL) {
      abort();
    }
  }
  t->asks[t->count++] = a;
}

/* 0..n-1, the i-th with weight 1/(i+1)^s. */
static uint64_t zipf(uint64_t n, double s) {
  static double *sums;
  static uint64_t sums_n;
  static double sums_s;
  if (sums_n != n || sums_s != s) {
    free(sums);
    sums = malloc(n * sizeof(*sums));
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
      sums[i] = sum += pow((double)(i + 1), -s);
    }
    sums_n = n;
    sums_s = s;
  }
  double at = (double)(random_next(&state) >> 11) / 9007199254740992.0 * sums[n - 1];
  uint64_t low = 0, high = n - 1;
  while (low < high) {
    uint64_t middle = (low + high) / 2;
    if (sums[middle] < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* A chunk's size is a function of its number: 1 MiB, or anything from 16 KiB to 4 MiB. */
static uint64_t size_of(uint64_t number, bool mixed) {
  uint64_t h = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  h ^= h >> 29;
  h *= UINT64_C(0xbf58476d1ce4e5b9);
  h ^= h >> 32;
  return mixed ? (UINT64_C(16384) << (h % 8)) + (h >> 20) % 16384 : MIB;
}

static ask simple(uint64_t file, uint64_t number, bool mixed, bool hot) {
  return (ask){.file = file,
               .row_group = (uint32_t)number,
               .bytes = size_of(number * 31 + file, mixed),
               .hot = hot};
}

/* Keys whose bytes add up to about so many. */
static uint64_t keys_of(uint64_t bytes, bool mixed) { return bytes / (mixed ? 530 << 10 : MIB); }

static trace zipf_trace(const char *name, double scan_part, bool mixed) {
  trace t = {.name = name};
  uint64_t keys = keys_of(10 * CAPACITY, mixed);
  for (uint64_t i = 0, scan = 0; i < 400000; i++) {
    if ((double)(random_next(&state) % 1000) < scan_part * 1000) {
      add(&t, simple(2, scan++, mixed, false));
    } else {
      add(&t, simple(1, zipf(keys, 0.8), mixed, true));
    }
  }
  return t;
}

/* Many chunks, so that what the cache holds is a small part of a long tail. */
static trace small_zipf_trace(const char *name, double scan_part) {
  trace t = {.name = name};
  uint64_t keys = 10 * CAPACITY / 65536;
  for (uint64_t i = 0, scan = 0; i < 4000000; i++) {
    bool hot = (double)(random_next(&state) % 1000) >= scan_part * 1000;
    ask a = {.file = hot ? 1 : 2, .bytes = 65536, .hot = hot};
    a.row_group = (uint32_t)(hot ? zipf(keys, 0.8) : scan++);
    add(&t, a);
  }
  return t;
}

static trace loop_trace(const char *name, double capacities, bool mixed) {
  trace t = {.name = name};
  uint64_t keys = keys_of((uint64_t)(capacities * (double)CAPACITY), mixed);
  for (uint64_t i = 0; i < 60 * keys; i++) {
    add(&t, simple(1, i % keys, mixed, true));
  }
  return t;
}

/* Popularity drifts: what is asked for are the recent ones of an ever growing row of chunks. */
static trace drift_trace(const char *name, uint64_t width, bool mixed) {
  trace t = {.name = name};
  uint64_t window = keys_of(width, mixed);
  for (uint64_t i = 0; i < 300000; i++) {
    uint64_t newest = window + i / 16;
    add(&t, simple(1, newest - zipf(window, 0.9), mixed, true));
  }
  return t;
}

/* Mostly chunks that were asked for shortly before: what least recently used is made for. */
static trace recency_trace(const char *name) {
  trace t = {.name = name};
  for (uint64_t i = 0, fresh = 0; i < 300000; i++) {
    uint64_t back = 1 + zipf(3000, 1.1);
    if (random_next(&state) % 10 == 0 || back > t.count) {
      add(&t, simple(1, fresh++, true, true));
    } else {
      add(&t, t.asks[t.count - back]);
    }
  }
  return t;
}

/* Queries: some columns of the latest partitions of a fact table, in order, with dimensions in
 * between; now and then a report over the whole table; each day brings a partition. */
static trace query_trace(const char *name, unsigned partitions, unsigned reports) {
  trace t = {.name = name};
  for (unsigned query = 0; query < 3000; query++) {
    unsigned today = partitions + query / 100;
    bool report = reports > 0 && random_next(&state) % reports == 0;
    unsigned days = report ? partitions : (unsigned)(1 + zipf(partitions / 2, 1.0));
    uint32_t columns[6];
    for (int c = 0; c < 6; c++) {
      columns[c] = (uint32_t)zipf(24, 1.0);
    }
    for (unsigned day = today - days; day < today; day++) {
      for (int c = 0; c < 6; c++) {
        add(&t, (ask){.file = 100 + day,
                      .column = columns[c],
                      .bytes = size_of(columns[c] * 7919, true),
                      .hot = !report});
      }
    }
    for (int d = 0; d < 5; d++) {
      uint64_t number = zipf(40, 0.7);
      add(&t, (ask){.file = 1 + number, .bytes = size_of(number, true) / 4, .hot = true});
    }
  }
  return t;
}

static trace read_trace(const char *path) {
  trace t = {.name = path};
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  unsigned long long f, bytes;
  unsigned row_group, column;
  while (fscanf(file, "%llu %u %u %llu", &f, &row_group, &column, &bytes) == 4) {
    add(&t, (ask){f, row_group, column, bytes, true});
  }
  fclose(file);
  return t;
}

typedef struct result {
  double all;
  double hot;
} result;

static result replay(const trace *t, const char *policy, uint64_t capacity) {
  oap_pool *pool;
  oap_options options = {.capacity = capacity, .policy = policy};
  if (oap_pool_open(&options, &pool) != 0) {
    fprintf(stderr, "no pool with policy %s\n", policy);
    exit(1);
  }
  double bytes[2] = {0}, hits[2] = {0};
  for (size_t i = 0; i < t->count; i++) {
    const ask *a = &t->asks[i];
    oap_key key = {.file_low = a->file, .row_group = a->row_group, .column = a->column};
    oap_chunk chunk;
    bool hit = oap_pool_pin(pool, &key, &chunk) == 0;
    if (hit) {
      oap_pool_unpin(pool, &chunk);
    } else if (oap_pool_reserve(pool, &key, a->bytes, &chunk) == 0) {
      oap_pool_publish(pool, &chunk);
      oap_pool_unpin(pool, &chunk);
    }
    if (i >= t->count / 4) { /* once warm */
      bytes[a->hot] += (double)a->bytes;
      hits[a->hot] += hit ? (double)a->bytes : 0;
    }
  }
  oap_pool_close(pool);
  return (result){(hits[0] + hits[1]) / (bytes[0] + bytes[1]), hits[1] / bytes[1]};
}

#define NEVER SIZE_MAX

/* An ask, sorted by its chunk and then by its time. */
typedef struct place {
  ask of;
  size_t at;
} place;

static int by_chunk_and_time(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->of.file != b->of.file) {
    return a->of.file < b->of.file ? -1 : 1;
  }
  if (a->of.row_group != b->of.row_group) {
    return a->of.row_group < b->of.row_group ? -1 : 1;
  }
  if (a->of.column != b->of.column) {
    return a->of.column < b->of.column ? -1 : 1;
  }
  return a->at < b->at ? -1 : a->at > b->at;
}

/* Numbers the chunks of a trace, and says when each ask's chunk is asked for again. */
static size_t look_ahead(const trace *t, size_t *chunk, size_t *next) {
  place *places = malloc((t->count + 1) * sizeof(*places));
  if (places == NULL) {
    abort();
  }
  for (size_t i = 0; i < t->count; i++) {
    places[i] = (place){t->asks[i], i};
  }
  qsort(places, t->count, sizeof(*places), by_chunk_and_time);
  size_t chunks = 0;
  for (size_t i = 0; i < t->count; i++) {
    const ask *a = &places[i].of, *b = &places[i + 1].of;
    bool again = i + 1 < t->count && a->file == b->file && a->row_group == b->row_group &&
                 a->column == b->column;
    chunk[places[i].at] = chunks;
    next[places[i].at] = again ? places[i + 1].at : NEVER;
    chunks += again ? 0 : 1;
  }
  free(places);
  return chunks;
}

typedef struct resident {
  uint64_t bytes; /* 0: not in the cache */
  size_t next;
} resident;

/* Makes room by giving up what is asked for last, until all fits. */
static void make_room(resident *cache, size_t chunks, uint64_t *used, uint64_t capacity) {
  while (*used > capacity) {
    size_t last = chunks;
    for (size_t c = 0; c < chunks; c++) {
      if (cache[c].bytes > 0 && (last == chunks || cache[c].next > cache[last].next)) {
        last = c;
      }
    }
    *used -= cache[last].bytes;
    cache[last].bytes = 0;
  }
}

/* L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
 * Journal 5 (1966): what is asked for last leaves first, and that may be the newcomer. It is the
 * optimum for chunks of one size, and close to it for these. */
static double belady(const trace *t, uint64_t capacity) {
  size_t *chunk = malloc((t->count + 1) * sizeof(*chunk));
  size_t *next = malloc((t->count + 1) * sizeof(*next));
  resident *cache = calloc(t->count + 1, sizeof(*cache));
  if (chunk == NULL || next == NULL || cache == NULL) {
    abort();
  }
  size_t chunks = look_ahead(t, chunk, next);
  uint64_t used = 0;
  double bytes = 0, hits = 0;
  for (size_t i = 0; i < t->count; i++) {
    resident *r = &cache[chunk[i]];
    if (i >= t->count / 4) { /* once warm */
      bytes += (double)t->asks[i].bytes;
      hits += r->bytes > 0 ? (double)t->asks[i].bytes : 0;
    }
    used += t->asks[i].bytes - r->bytes;
    *r = (resident){t->asks[i].bytes, next[i]};
    make_room(cache, chunks, &used, capacity);
  }
  free(chunk);
  free(next);
  free(cache);
  return hits / bytes;
}

static void race(trace t, uint64_t capacity, bool recorded) {
  static const char *const policies[] = {"lru", "generations", "s3fifo"};
  printf("%-28s", t.name);
  for (int p = 0; p < 3; p++) {
    result r = replay(&t, policies[p], capacity);
    printf("  %s %.3f (hot %.3f)", policies[p], r.all, r.hot);
  }
  if (recorded) {
    printf("  Belady %.3f", belady(&t, capacity));
  }
  printf("\n");
  fflush(stdout);
  free(t.asks);
}

int main(int argc, char **argv) {
  for (int i = 2; i < argc; i++) {
    race(read_trace(argv[i]), strtoull(argv[1], NULL, 10), true);
  }
  if (argc > 1) {
    return 0;
  }
  race(zipf_trace("zipf .8", 0, false), CAPACITY, false);
  race(zipf_trace("zipf .8, mixed sizes", 0, true), CAPACITY, false);
  race(zipf_trace("zipf .8 + 50% scan", 0.5, false), CAPACITY, false);
  race(zipf_trace("zipf .8 + 50% scan, mixed", 0.5, true), CAPACITY, false);
  race(small_zipf_trace("zipf .8 + 50% scan, 64 KiB", 0.5), CAPACITY, false);
  race(loop_trace("loop 1.25", 1.25, false), CAPACITY, false);
  race(loop_trace("loop 1.25, mixed sizes", 1.25, true), CAPACITY, false);
  race(loop_trace("loop 2, mixed sizes", 2, true), CAPACITY, false);
  race(drift_trace("drift over 2 capacities", 2 * CAPACITY, true), CAPACITY, false);
  race(drift_trace("drift over half", CAPACITY / 2, true), CAPACITY, false);
  race(recency_trace("recency"), CAPACITY / 2, false);
  race(query_trace("queries", 100, 0), CAPACITY / 2, false);
  race(query_trace("queries, reports", 100, 20), CAPACITY / 2, false);
  race(query_trace("queries, many days", 400, 10), CAPACITY, false);
  return 0;
}
