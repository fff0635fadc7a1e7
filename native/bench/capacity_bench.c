/*
 * How far the capacity model is off, and what it costs.
 *
 *   capacity_bench                       made traces at 1 GiB, and the cost of an ask
 *   capacity_bench CAPACITY FILE...      recorded traces
 *
 * A pool of the capacity serves a trace with the model beside it; pools of all the capacities that
 * the model knows serve the same trace. Four times, at each quarter, what the model estimates for
 * each capacity is compared with what the pool of that capacity hit over the same asks.
 */
#include "measure.h"
#include "oap_capacity_model.h"
#include "oap_pool.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned percents[OAP_CAPACITIES] = OAP_CAPACITY_PERCENTS;

enum { LOOKS = 4, NOW = 3 };

/* Which asks of the trace a pool hits. */
static bool *hits_of(const trace *t, const char *policy, uint64_t capacity) {
  oap_pool *pool = open_pool(policy, capacity);
  bool *hits = malloc(t->count);
  for (size_t i = 0; i < t->count; i++) {
    hits[i] = serve(pool, &t->asks[i]);
  }
  oap_pool_close(pool);
  return hits;
}

/* The byte hit ratio over the last so many bytes asked for before an ask. */
static double ratio(const trace *t, const bool *hits, size_t end, uint64_t bytes) {
  uint64_t asked = 0, hit = 0;
  for (size_t i = end; i > 0 && asked < bytes; i--) {
    asked += t->asks[i - 1].bytes;
    hit += hits[i - 1] ? t->asks[i - 1].bytes : 0;
  }
  return (double)hit / (double)asked;
}

typedef struct looks {
  oap_capacity_estimates at[LOOKS];
  double seconds; /* of processor time, for asks and estimates of the model */
} looks;

static looks model(const trace *t, const char *policy, uint64_t capacity, const bool *held) {
  looks out = {0};
  oap_capacity_model *model;
  if (oap_capacity_model_open(policy, capacity, &model) != 0) {
    exit(1);
  }
  oap_capacity_model_stop(model); /* the estimates take the asks in, so that none is lost */
  double start = cpu_now();
  for (size_t i = 0; i < t->count; i++) {
    const ask *a = &t->asks[i];
    oap_column_chunk chunk = {.file_low = a->file, .row_group = a->row_group, .column = a->column};
    oap_capacity_model_ask(model, &chunk, a->bytes, a->bytes, held[i], OAP_ADMIT);
    bool is_look = (i + 1) * LOOKS / t->count > i * LOOKS / t->count;
    if (is_look || i % OAP_ASKS_WAITING == OAP_ASKS_WAITING - 1) {
      oap_capacity_model_estimate(model, &out.at[is_look ? i * LOOKS / t->count : LOOKS - 1]);
    }
  }
  out.seconds = cpu_now() - start;
  oap_capacity_model_close(model);
  return out;
}

/* Prints a line for each policy: what pools hit at the end of the trace and how far the estimate is
 * off, in percent by capacity, and by how much it is off at most at any look. */
static void compare_with_pools(const trace *t, uint64_t capacity) {
  static const char *const policies[] = {"s3fifo", "generations", "lru"};
  for (int p = 0; p < 3; p++) {
    bool *hits[OAP_CAPACITIES];
    for (int i = 0; i < OAP_CAPACITIES; i++) {
      hits[i] = hits_of(t, policies[p], capacity * percents[i] / 100);
    }
    looks l = model(t, policies[p], capacity, hits[NOW]);
    double worst = 0;
    printf("%-26s %-11s 1/%-3u", t->name, policies[p], l.at[LOOKS - 1].sampled_one_in);
    for (int look = 0; look < LOOKS; look++) {
      const oap_capacity_estimates *e = &l.at[look];
      size_t end = ((size_t)(look + 1) * t->count + LOOKS - 1) / LOOKS;
      for (int i = 0; i < OAP_CAPACITIES; i++) {
        double real = ratio(t, hits[i], end, e->asked_bytes);
        double error = (double)e->hit_bytes[i] / (double)e->asked_bytes - real;
        worst = fmax(worst, fabs(error));
        if (look == LOOKS - 1) {
          printf(" %5.1f %+4.1f", 100 * real, 100 * error);
        }
      }
    }
    printf("  most %.1f; %.0f ns an ask\n", 100 * worst, l.seconds / (double)t->count * 1e9);
    fflush(stdout);
    for (int i = 0; i < OAP_CAPACITIES; i++) {
      free(hits[i]);
    }
  }
}

static void pin(oap_pool *pool, uint64_t number) {
  oap_key key = {.file_low = number};
  oap_chunk chunk;
  if (oap_pool_pin(pool, &key, &chunk) != 0) {
    exit(1);
  }
  oap_pool_unpin(pool, &chunk);
}

/* Nanoseconds of processor time for a pin and unpin, and with an ask, which the model's thread has
 * taken in before the next round. Of so many chunks; the fewer are followed, the more there are. */
static void cost(uint64_t chunks) {
  enum { ROUNDS = 15, PINS = OAP_ASKS_WAITING / 2 };
  oap_pool *pool = open_pool(NULL, chunks * 4096 * 2);
  oap_capacity_model *model;
  if (oap_capacity_model_open(NULL, chunks * 4096 * 2, &model) != 0) {
    exit(1);
  }
  for (uint64_t i = 0; i < chunks; i++) {
    serve(pool, &(ask){.file = i, .bytes = 4096});
    oap_capacity_model_put(model, &(oap_column_chunk){.file_low = i}, 4096);
    if (i % PINS == 0) {
      oap_capacity_estimates e;
      oap_capacity_model_estimate(model, &e);
    }
  }
  double alone[ROUNDS], asking[ROUNDS];
  uint64_t random = 1;
  for (int r = 0; r < ROUNDS; r++) {
    double start = cpu_now();
    for (int i = 0; i < PINS; i++) {
      pin(pool, random_next(&random) % chunks);
    }
    alone[r] = (cpu_now() - start) / PINS * 1e9;
    start = cpu_now();
    for (int i = 0; i < PINS; i++) {
      uint64_t number = random_next(&random) % chunks;
      pin(pool, number);
      oap_capacity_model_ask(model, &(oap_column_chunk){.file_low = number}, 4096, 4096, true,
                             OAP_ADMIT);
    }
    asking[r] = (cpu_now() - start) / PINS * 1e9;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  }
  oap_capacity_estimates e;
  oap_capacity_model_estimate(model, &e);
  printf("%llu chunks, 1/%u followed: pin and unpin %.0f ns, with an ask %.0f ns; %llu asks lost\n",
         (unsigned long long)chunks, e.sampled_one_in, median(alone, ROUNDS),
         median(asking, ROUNDS), (unsigned long long)e.lost);
  oap_capacity_model_close(model);
  oap_pool_close(pool);
}

static void with(trace t, uint64_t capacity) {
  compare_with_pools(&t, capacity);
  free(t.asks);
}

int main(int argc, char **argv) {
  for (int i = 2; i < argc; i++) {
    with(read_trace(argv[i]), strtoull(argv[1], NULL, 10));
  }
  if (argc > 1) {
    return 0;
  }
  cost(1000);
  cost(100000);
  with(zipf_trace("zipf .8", 0, false), CAPACITY);
  with(zipf_trace("zipf .8, mixed sizes", 0, true), CAPACITY);
  with(zipf_trace("zipf .8 + 50% scan, mixed", 0.5, true), CAPACITY);
  with(small_zipf_trace("the same, 64 KiB", 0.5), CAPACITY);
  with(loop_trace("loop 1.25, mixed sizes", 1.25, true), CAPACITY);
  with(drift_trace("drift over 2 capacities", 2 * CAPACITY, true), CAPACITY);
  with(recency_trace("recency"), CAPACITY / 2);
  with(query_trace("queries, reports", 100, 20), CAPACITY / 2);
  with(query_trace("queries, many days", 400, 10), CAPACITY);
  return 0;
}
