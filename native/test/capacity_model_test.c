/* The capacity model against pools of the capacities that it models: the same to the byte while all
 * chunks are followed, within two points when few are. */
#include "check.h"
#include "oap_capacity_model.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static const unsigned percents[OAP_CAPACITIES] = OAP_CAPACITY_PERCENTS;
static const char *const policies[] = {"s3fifo", "generations", "lru"};

enum { OWN = 3, FILES = 4, COLUMNS = 300 };

#define CHECK_MODEL(model) CHECK_NO_FAULT(oap_capacity_model_validate(model))

typedef struct world {
  uint64_t random;
  uint64_t capacity;
  oap_capacity_model *model;
  oap_pool *pools[OAP_CAPACITIES];
  uint64_t asked;
  uint64_t hits[OAP_CAPACITIES];
} world;

static world open_world(uint64_t seed, const char *policy, uint64_t capacity) {
  world w = {.random = seed, .capacity = capacity};
  CHECK(oap_capacity_model_open(policy, capacity, &w.model) == 0);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_options options = {.capacity = capacity * percents[i] / 100, .policy = policy};
    CHECK(oap_pool_open(&options, &w.pools[i]) == 0);
  }
  return w;
}

static void close_world(world *w) {
  oap_capacity_model_close(w->model);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    CHECK_VALID(w->pools[i]);
    CHECK(oap_pool_close(w->pools[i]) == 0);
  }
}

static void put(oap_pool *pool, const oap_key *key, uint64_t bytes) {
  oap_chunk chunk;
  if (oap_pool_reserve(pool, key, bytes, &chunk) == 0) {
    CHECK(oap_pool_publish(pool, &chunk) == 0);
    CHECK(oap_pool_unpin(pool, &chunk) == 0);
  }
}

/* The key under which a pool holds the chunk: each replacement changes the representation. */
static oap_key key_in(oap_pool *pool, const oap_key *key) {
  oap_key other = *key;
  other.representation = 1;
  return oap_pool_is_held(pool, &other) ? other : *key;
}

static uint64_t bytes_if_held(oap_pool *pool, const oap_key *key) {
  oap_held held[FILES * COLUMNS];
  uint64_t version;
  uint64_t count = oap_pool_snapshot(pool, held, FILES * COLUMNS, &version);
  for (uint64_t i = 0; i < count; i++) {
    if (memcmp(&held[i].key, key, sizeof(*key)) == 0) {
      return held[i].bytes;
    }
  }
  return 0;
}

static bool has_free(oap_pool *pool, uint64_t bytes) {
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  return stats.used_bytes + bytes <= stats.capacity_bytes;
}

static void ask(world *w, const oap_key *key, uint64_t bytes, uint64_t weight,
                enum oap_admission admission) {
  bool held[OAP_CAPACITIES];
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_chunk chunk;
    oap_key here = key_in(w->pools[i], key);
    held[i] = oap_pool_pin(w->pools[i], &here, &chunk) == 0;
    if (held[i]) {
      CHECK(oap_pool_unpin(w->pools[i], &chunk) == 0);
      w->hits[i] += weight;
    } else if (admission == OAP_ADMIT ||
               (admission == OAP_ADMIT_INTO_FREE && has_free(w->pools[i], bytes))) {
      put(w->pools[i], key, bytes);
    }
  }
  w->asked += weight;
  oap_column_chunk chunk = {key->file_high, key->file_low, key->row_group, key->column};
  oap_capacity_model_ask(w->model, &chunk, bytes, weight, held[OWN], admission);
}

static void replace(world *w, const oap_key *key, uint64_t bytes) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_key here = key_in(w->pools[i], key);
    uint64_t before = bytes_if_held(w->pools[i], &here);
    if (before != bytes) {
      oap_key other = here;
      other.representation ^= before > 0;
      put(w->pools[i], &other, bytes);
      if (before > 0) {
        oap_pool_drop(w->pools[i], &here);
      }
    }
  }
  oap_column_chunk chunk = {key->file_high, key->file_low, key->row_group, key->column};
  oap_capacity_model_put(w->model, &chunk, bytes);
}

static void drop(world *w, const oap_key *key, bool file) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    if (file) {
      oap_pool_drop_file(w->pools[i], key->file_high, key->file_low);
    } else {
      oap_key here = key_in(w->pools[i], key);
      oap_pool_drop(w->pools[i], &here);
    }
  }
  if (file) {
    oap_capacity_model_drop_file(w->model, key->file_high, key->file_low);
  } else {
    oap_column_chunk chunk = {key->file_high, key->file_low, key->row_group, key->column};
    oap_capacity_model_drop(w->model, &chunk);
  }
}

static void begin_anew(world *w) {
  w->asked = 0;
  memset(w->hits, 0, sizeof(w->hits));
}

static void operate(world *w) {
  uint64_t number = random_below(&w->random, COLUMNS) * random_below(&w->random, COLUMNS) / COLUMNS;
  uint64_t file = random_below(&w->random, FILES);
  oap_key key = key_numbered(file, (uint32_t)number, 0);
  key.representation = 0;
  uint64_t bytes = 64 + (number * 7919 + file * 104729) % 30000;
  uint64_t choice = random_below(&w->random, 1000);
  if (choice < 960) {
    ask(w, &key, bytes, random_below(&w->random, 4) == 0 ? bytes / 2 : bytes,
        choice < 900   ? OAP_ADMIT
        : choice < 930 ? OAP_ADMIT_INTO_FREE
                       : OAP_ADMIT_NEVER);
  } else if (choice < 985) {
    replace(w, &key, bytes / 2 + 1);
  } else if (choice < 998) {
    drop(w, &key, false);
  } else if (choice < 999 || random_below(&w->random, 4) > 0) {
    drop(w, &key, true);
  } else {
    for (int i = 0; i < OAP_CAPACITIES; i++) {
      oap_pool_clear(w->pools[i]);
    }
    oap_capacity_model_clear(w->model);
    begin_anew(w);
  }
}

static void check_exact(world *w) {
  oap_capacity_estimates e;
  oap_capacity_model_estimate(w->model, &e);
  CHECK(e.lost == 0 && e.sampled_one_in == 1);
  CHECK(e.asked_bytes == w->asked);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    CHECK(e.hit_bytes[i] == w->hits[i]);
  }
}

/* As many bytes as one window takes, so that nothing is forgotten. */
static void exact(uint64_t seed, const char *policy) {
  world w = open_world(seed, policy, (UINT64_C(1) << 20) + seed % 1000 * 4096);
  while (w.asked + 30064 < 15 * w.capacity && random_below(&w.random, 6000) > 0) {
    operate(&w);
    if (random_below(&w.random, 500) == 0) {
      check_exact(&w);
      CHECK_MODEL(w.model);
    }
  }
  check_exact(&w);
  CHECK_MODEL(w.model);
  oap_capacity_model_resize(w.model, OAP_LEAST_CAPACITY + seed % (2 * w.capacity));
  CHECK_MODEL(w.model);
  begin_anew(&w);
  check_exact(&w);
  close_world(&w);
}

enum { ASKS = 300000, KEYS = 60000, CHUNK = 32768, ASKS_PER_NOTE = 100 };

/* What the pools had hit when so many chunks had been asked for, times ASKS_PER_NOTE. */
static uint64_t noted[ASKS / ASKS_PER_NOTE + 1][OAP_CAPACITIES];

/* How far the estimates are off what the pools hit of the very asks that they are about: over a
 * longer or shorter time a policy that goes on learning hits another share. */
static void check_near(const world *w, const oap_capacity_estimates *e) {
  uint64_t before = (w->asked - e->asked_bytes) / CHUNK / ASKS_PER_NOTE;
  double asked = (double)(w->asked - before * ASKS_PER_NOTE * CHUNK);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    double hits = (double)(w->hits[i] - noted[before][i]);
    double error = (double)e->hit_bytes[i] / (double)e->asked_bytes - hits / asked;
    CHECK(error < .02 && error > -.02);
  }
}

/* Many chunks: most asked for seldom, and a scan in between. */
static void sampled(uint64_t seed, const char *policy) {
  world w = open_world(seed, policy, UINT64_C(1) << 28);
  oap_capacity_estimates e;
  uint32_t asks = check_is_addresssan() ? ASKS / 3 * 2 : ASKS; /* more than a window both times */
  for (uint32_t i = 0; i < asks; i++) {
    if (i % ASKS_PER_NOTE == 0) {
      memcpy(noted[i / ASKS_PER_NOTE], w.hits, sizeof(w.hits));
    }
    double u = (double)random_below(&w.random, 1 << 30) / (1 << 30);
    bool scans = random_below(&w.random, 4) == 0;
    oap_key key = {.file_low = scans, .row_group = scans ? i : (uint32_t)(KEYS * u * u * u)};
    ask(&w, &key, CHUNK, CHUNK, OAP_ADMIT);
    if (i % (OAP_ASKS_WAITING / 2) == 0) { /* so that none is lost */
      oap_capacity_model_estimate(w.model, &e);
      CHECK(e.lost == 0);
    }
  }
  oap_capacity_model_estimate(w.model, &e);
  CHECK(e.lost == 0 && e.sampled_one_in >= 2 && e.sampled_one_in <= 8);
  CHECK(e.asked_bytes >= 16 * w.capacity && e.asked_bytes <= 33 * w.capacity);
  CHECK_MODEL(w.model);
  check_near(&w, &e);
  close_world(&w);
}

enum { THREADS = 4, ASKS_EACH = 50000, WEIGHT = 10 };

static void *ask_many(void *argument) {
  oap_capacity_model *model = argument;
  for (uint32_t i = 0; i < ASKS_EACH; i++) {
    oap_column_chunk chunk = {.row_group = i % 100};
    oap_capacity_model_ask(model, &chunk, 1000, WEIGHT, i % 2 == 0, OAP_ADMIT);
    if (i % 1000 == 0) {
      oap_capacity_model_put(model, &chunk, 1000);
      oap_capacity_model_drop(model, &(oap_column_chunk){.row_group = 200});
      oap_capacity_model_drop_file(model, 1, 1);
    }
  }
  return NULL;
}

/* Asks that are lost are lost to all capacities, and counted. */
static void threads(const char *policy) {
  oap_capacity_model *model;
  CHECK(oap_capacity_model_open(policy, UINT64_C(1) << 30, &model) == 0);
  pthread_t ids[THREADS];
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_create(&ids[t], NULL, ask_many, model) == 0);
  }
  for (int i = 0; i < 20; i++) {
    oap_capacity_estimates e;
    oap_capacity_model_estimate(model, &e);
    CHECK(e.asked_bytes <= (uint64_t)THREADS * ASKS_EACH * WEIGHT);
  }
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_join(ids[t], NULL) == 0);
  }
  oap_capacity_estimates e;
  oap_capacity_model_estimate(model, &e);
  CHECK(e.asked_bytes == (uint64_t)THREADS * ASKS_EACH * WEIGHT);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    CHECK(e.hit_bytes[i] == e.asked_bytes / 2);
  }
  CHECK_MODEL(model);
  oap_capacity_model_stop(model);
  oap_capacity_model_resize(model, 1);
  oap_capacity_model_estimate(model, &e);
  CHECK(e.asked_bytes == 0);
  for (uint32_t i = 0; i < 2 * OAP_ASKS_WAITING; i++) { /* nobody takes them in */
    oap_column_chunk chunk = {.row_group = i};
    oap_capacity_model_ask(model, &chunk, 1, 1, false, OAP_ADMIT);
  }
  uint64_t lost = e.lost;
  oap_capacity_model_estimate(model, &e);
  CHECK(e.lost == lost + OAP_ASKS_WAITING && e.asked_bytes == 2 * OAP_ASKS_WAITING);
  oap_capacity_model_close(model);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t first = check_seed;
  oap_capacity_model *none;
  CHECK(oap_capacity_model_open("fifo", 1 << 20, &none) == -EINVAL);
  uint64_t runs = check_runs(check_is_threadsan() ? 1 : 20); /* threads() has many threads */
  for (int p = 0; p < 3; p++) {
    for (uint64_t i = 0; i < runs; i++) {
      check_seed = first + i;
      exact(check_seed, policies[p]);
    }
    check_seed = first;
    threads(policies[p]);
  }
  if (!check_is_threadsan()) {
    sampled(first, policies[first % 3]); /* nine pools for long: one policy a run */
  }
  return 0;
}
