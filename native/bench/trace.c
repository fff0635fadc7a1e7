/* The traces: see trace.h. */
#include "trace.h"

#include "random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

trace zipf_trace(const char *name, double scan_part, bool mixed) {
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

trace small_zipf_trace(const char *name, double scan_part) {
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

trace loop_trace(const char *name, double capacities, bool mixed) {
  trace t = {.name = name};
  uint64_t keys = keys_of((uint64_t)(capacities * (double)CAPACITY), mixed);
  for (uint64_t i = 0; i < 60 * keys; i++) {
    add(&t, simple(1, i % keys, mixed, true));
  }
  return t;
}

trace drift_trace(const char *name, uint64_t width, bool mixed) {
  trace t = {.name = name};
  uint64_t window = keys_of(width, mixed);
  for (uint64_t i = 0; i < 300000; i++) {
    uint64_t newest = window + i / 16;
    add(&t, simple(1, newest - zipf(window, 0.9), mixed, true));
  }
  return t;
}

trace recency_trace(const char *name) {
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

trace query_trace(const char *name, unsigned partitions, unsigned reports) {
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

trace read_trace(const char *path) {
  trace t = {.name = path};
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  unsigned long long f, bytes;
  unsigned row_group, column;
  int numbers;
  while ((numbers = fscanf(file, "%llu %u %u %llu", &f, &row_group, &column, &bytes)) == 4) {
    add(&t, (ask){f, row_group, column, bytes, true});
  }
  if (numbers != EOF || t.count == 0) {
    fprintf(stderr, "%s: no trace: ask %zu is not \"file row-group column bytes\"\n", path,
            t.count + 1);
    exit(1);
  }
  fclose(file);
  return t;
}

oap_pool *open_pool(const char *policy, uint64_t capacity) {
  oap_pool *pool;
  oap_options options = {.capacity = capacity, .policy = policy};
  if (oap_pool_open(&options, &pool) != 0) {
    fprintf(stderr, "no pool of %llu bytes with policy %s\n", (unsigned long long)capacity,
            policy == NULL ? "(default)" : policy);
    exit(1);
  }
  return pool;
}

bool serve(oap_pool *pool, const ask *a) {
  oap_key key = {.file_low = a->file, .row_group = a->row_group, .column = a->column};
  oap_chunk chunk;
  bool hit = oap_pool_pin(pool, &key, &chunk) == 0;
  if (hit) {
    oap_pool_unpin(pool, &chunk);
  } else if (oap_pool_reserve(pool, &key, a->bytes, &chunk) == 0) {
    oap_pool_publish(pool, &chunk);
    oap_pool_unpin(pool, &chunk);
  }
  return hit;
}
