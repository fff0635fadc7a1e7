/* The race of the policies: byte hit ratio on made traces, and on recorded ones given as files. The
 * pool's memory is never touched, so a race over terabytes takes seconds. Recorded traces are also
 * replayed through Belady's rule, which knows the future. */
#include "oap_pool.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct result {
  double all;
  double hot;
} result;

static result replay(const trace *t, const char *policy, uint64_t capacity) {
  oap_pool *pool = open_pool(policy, capacity);
  double bytes[2] = {0}, hits[2] = {0};
  for (size_t i = 0; i < t->count; i++) {
    const ask *a = &t->asks[i];
    bool hit = serve(pool, a);
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

static void race_recorded(const char *capacity, char **paths, int count) {
  char *end;
  uint64_t bytes = strtoull(capacity, &end, 10);
  if (*end != '\0' || bytes == 0 || count == 0) {
    fprintf(stderr, "usage: policy_bench [CAPACITY_IN_BYTES TRACE...]\n");
    exit(2);
  }
  for (int i = 0; i < count; i++) {
    race(read_trace(paths[i]), bytes, true);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) {
    race_recorded(argv[1], argv + 2, argc - 2);
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
