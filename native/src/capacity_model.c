/* The capacity model: see oap_capacity_model.h. Miniatures, what they hit, and the thread that
 * tells them what readers ask for. */
#include "arena.h"
#include "background.h"
#include "event_queue.h"
#include "miniature.h"
#include "shard.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* Slots of a miniature, per percent of the pool's capacity that it has and at least. */
#define SLOTS_PER_PERCENT 40
#define LEAST_SLOTS 4096

/* What is counted is forgotten after so many times the pool's capacity, by halves. */
#define WINDOW_CAPACITIES 16

/* From one look of the thread into the queue to the next. */
#define PAUSE_NANOSECONDS 100000000

/* Bytes of all asks, by stripes of threads: what the sample misses, the hottest chunks above all,
 * is in them. */
typedef struct asked {
  _Alignas(64) _Atomic uint64_t bytes;
  _Atomic uint64_t held;
} asked;

typedef struct window {
  uint64_t asked;                /* of chunks that are followed */
  uint64_t hits[OAP_CAPACITIES]; /* of those, by miniatures */
  uint64_t all_asked;            /* when it began: all asks so far */
  uint64_t all_held;
} window;

struct oap_capacity_model {
  oap_event_queue queue;
  asked asked[OAP_STRIPES];
  _Atomic uint32_t halvings; /* one chunk of two to the power of this is followed */
  const oap_policy *policy;
  unsigned char *nowhere; /* where the chunks of the miniatures lie, untouched */

  pthread_mutex_t lock; /* guards what follows, and reading from the queue */
  pthread_cond_t stopping;
  bool is_stopping;
  uint64_t capacity; /* of the pool */
  window now;
  window before;
  oap_miniature *miniatures[OAP_CAPACITIES];
  pthread_t thread;
};

static const unsigned percents[OAP_CAPACITIES] = OAP_CAPACITY_PERCENTS;
#define OWN_CAPACITY 3 /* its index there */

/* Other bits of the hash than those by which tables are ordered. Two shifts: one by 64 would be
 * undefined. */
static bool is_followed(uint64_t hash, uint32_t halvings) {
  return oap_mix(hash + UINT64_C(0xd1b54a32d192ed03)) >> 1 >> (63 - halvings) == 0;
}

static uint64_t percent_of(uint64_t capacity, unsigned percent) {
  return capacity / 100 * percent + capacity % 100 * percent / 100;
}

static oap_miniature_options options_of(const oap_capacity_model *model, int i) {
  uint32_t slots = SLOTS_PER_PERCENT * percents[i];
  return (oap_miniature_options){
      .capacity = percent_of(model->capacity, percents[i]) >> model->halvings,
      .most_slots = slots < LEAST_SLOTS ? LEAST_SLOTS : slots,
      .policy = model->policy,
      .nowhere = model->nowhere,
  };
}

/* Makes all miniatures anew, for a capacity or for chunks that have changed. Where there is no
 * memory for one, the former goes on, empty and of another capacity, and what it says is wrong. */
static void resize_miniatures(oap_capacity_model *model) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature_options options = options_of(model, i);
    oap_miniature *resized;
    if (oap_miniature_open_from(&options, model->miniatures[i], is_followed, model->halvings,
                                &resized) == 0) {
      oap_miniature_close(model->miniatures[i]);
      model->miniatures[i] = resized;
    } else {
      oap_shard_clear(&model->miniatures[i]->shard);
    }
  }
}

static void halve_window(window *w) {
  w->asked /= 2;
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    w->hits[i] /= 2;
  }
}

/* Follows half of the chunks from now on; what was counted of all of them weighs half. */
static void follow_fewer(oap_capacity_model *model) {
  atomic_fetch_add_explicit(&model->halvings, 1, memory_order_relaxed);
  resize_miniatures(model);
  halve_window(&model->now);
  halve_window(&model->before);
}

static void sum_asked(const oap_capacity_model *model, uint64_t *bytes, uint64_t *held) {
  *bytes = 0;
  *held = 0;
  for (int i = 0; i < OAP_STRIPES; i++) {
    *bytes += atomic_load_explicit(&model->asked[i].bytes, memory_order_relaxed);
    *held += atomic_load_explicit(&model->asked[i].held, memory_order_relaxed);
  }
}

static window new_window(const oap_capacity_model *model) {
  window w = {0};
  sum_asked(model, &w.all_asked, &w.all_held);
  return w;
}

static bool is_any_full(const oap_capacity_model *model) {
  bool is_full = false;
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    is_full |= oap_miniature_is_full(model->miniatures[i]);
  }
  return is_full;
}

static void ask(oap_capacity_model *model, const oap_event *event, uint64_t hash) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature *m = model->miniatures[i];
    if (oap_miniature_use(m, event->key, hash)) {
      model->now.hits[i] += event->weight;
    } else if (event->admission != OAP_ADMIT_NEVER) {
      oap_miniature_insert(m, event->key, hash, event->bytes, event->admission == OAP_ADMIT);
    }
  }
  model->now.asked += event->weight;
}

static void take_in(oap_capacity_model *model, const oap_event *event) {
  uint64_t hash = oap_key_hash(event->key);
  if (event->kind != OAP_EVENT_DROP_FILE && !is_followed(hash, model->halvings)) {
    return; /* told before fewer were followed */
  }
  if (event->kind == OAP_EVENT_ASK) {
    ask(model, event, hash);
  }
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature *m = model->miniatures[i];
    if (event->kind == OAP_EVENT_PUT) {
      oap_miniature_replace(m, event->key, hash, event->bytes);
    } else if (event->kind == OAP_EVENT_DROP) {
      oap_shard_drop(&m->shard, event->key, hash);
    } else if (event->kind == OAP_EVENT_DROP_FILE) {
      oap_shard_drop_file(&m->shard, event->key[0], event->key[1]);
    }
  }
  if (is_any_full(model)) {
    follow_fewer(model);
  }
}

/* A window ends when all is taken in, so that it and the counts of all asks are about the same. */
static void take_in_all(oap_capacity_model *model) {
  oap_event event;
  for (int i = 0; i < OAP_ASKS_WAITING && oap_event_queue_read(&model->queue, &event); i++) {
    take_in(model, &event);
  }
  if (model->now.asked > (WINDOW_CAPACITIES * model->capacity) >> model->halvings) {
    model->before = model->now;
    model->now = new_window(model);
  }
}

static void *run(void *argument) {
  oap_capacity_model *model = argument;
  oap_background_stand_back();
  pthread_mutex_lock(&model->lock);
  while (!model->is_stopping) {
    take_in_all(model);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PAUSE_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&model->stopping, &model->lock, &until);
  }
  pthread_mutex_unlock(&model->lock);
  return NULL;
}

static int start(oap_capacity_model *model) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&model->stopping, &monotonic);
  pthread_condattr_destroy(&monotonic);
  model->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  return oap_background_start(&model->thread, run, model);
}

static int open_tables(oap_capacity_model *model) {
  model->nowhere = oap_table_map(OAP_WINDOW_BYTES);
  if (model->nowhere != NULL) {
    mprotect(model->nowhere, OAP_WINDOW_BYTES, PROT_NONE);
  }
  void *places = oap_table_map(OAP_EVENT_QUEUE_BYTES);
  if (places != NULL) {
    oap_event_queue_init(&model->queue, places);
  }
  int error = model->nowhere == NULL || places == NULL ? -errno : 0;
  for (int i = 0; error == 0 && i < OAP_CAPACITIES; i++) {
    oap_miniature_options options = options_of(model, i);
    error = oap_miniature_open(&options, &model->miniatures[i]);
  }
  return error;
}

static void free_model(oap_capacity_model *model) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature_close(model->miniatures[i]);
  }
  oap_table_unmap(model->queue.places, OAP_EVENT_QUEUE_BYTES);
  oap_table_unmap(model->nowhere, OAP_WINDOW_BYTES);
  free(model);
}

int oap_capacity_model_open(const char *policy, uint64_t capacity, oap_capacity_model **out) {
  const oap_policy *chosen = oap_policy_named(policy);
  if (chosen == NULL) {
    return -EINVAL;
  }
  oap_capacity_model *model = aligned_alloc(64, sizeof(*model));
  if (model == NULL) {
    return -ENOMEM;
  }
  *model = (oap_capacity_model){.policy = chosen, .capacity = capacity};
  int error = open_tables(model);
  if (error == 0) {
    error = start(model);
  }
  if (error != 0) {
    free_model(model);
    return error;
  }
  *out = model;
  return 0;
}

void oap_capacity_model_stop(oap_capacity_model *model) {
  pthread_mutex_lock(&model->lock);
  bool was_stopping = model->is_stopping;
  model->is_stopping = true;
  pthread_cond_signal(&model->stopping);
  pthread_mutex_unlock(&model->lock);
  if (!was_stopping) {
    pthread_join(model->thread, NULL);
  }
}

void oap_capacity_model_close(oap_capacity_model *model) {
  oap_capacity_model_stop(model);
  pthread_cond_destroy(&model->stopping);
  pthread_mutex_destroy(&model->lock);
  free_model(model);
}

/* Hands an event to the thread, if it is about a chunk that is followed. */
static void tell(oap_capacity_model *model, const oap_column_chunk *chunk, oap_event event) {
  event.key[0] = chunk->file_high;
  event.key[1] = chunk->file_low;
  event.key[2] = ((uint64_t)chunk->row_group << 32) | chunk->column;
  event.key[3] = 0;
  uint32_t halvings = atomic_load_explicit(&model->halvings, memory_order_relaxed);
  if (event.kind == OAP_EVENT_DROP_FILE || is_followed(oap_key_hash(event.key), halvings)) {
    oap_event_queue_write(&model->queue, &event);
  }
}

void oap_capacity_model_ask(oap_capacity_model *model, const oap_column_chunk *chunk,
                            uint64_t bytes, uint64_t weight, bool was_held,
                            enum oap_admission admission) {
  asked *mine = &model->asked[oap_thread_stripe()];
  atomic_fetch_add_explicit(&mine->bytes, weight, memory_order_relaxed);
  if (was_held) {
    atomic_fetch_add_explicit(&mine->held, weight, memory_order_relaxed);
  }
  tell(
      model, chunk,
      (oap_event){.kind = OAP_EVENT_ASK, .bytes = bytes, .weight = weight, .admission = admission});
}

void oap_capacity_model_put(oap_capacity_model *model, const oap_column_chunk *chunk,
                            uint64_t bytes) {
  tell(model, chunk, (oap_event){.kind = OAP_EVENT_PUT, .bytes = bytes});
}

void oap_capacity_model_drop(oap_capacity_model *model, const oap_column_chunk *chunk) {
  tell(model, chunk, (oap_event){.kind = OAP_EVENT_DROP});
}

void oap_capacity_model_drop_file(oap_capacity_model *model, uint64_t high, uint64_t low) {
  tell(model, &(oap_column_chunk){.file_high = high, .file_low = low},
       (oap_event){.kind = OAP_EVENT_DROP_FILE});
}

/* What was counted is of a pool that is no more. */
static void begin_anew(oap_capacity_model *model) {
  model->now = new_window(model);
  model->before = model->now;
}

void oap_capacity_model_resize(oap_capacity_model *model, uint64_t capacity) {
  pthread_mutex_lock(&model->lock);
  take_in_all(model);
  model->capacity = capacity;
  resize_miniatures(model);
  begin_anew(model);
  pthread_mutex_unlock(&model->lock);
}

void oap_capacity_model_clear(oap_capacity_model *model) {
  pthread_mutex_lock(&model->lock);
  take_in_all(model);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_shard_clear(&model->miniatures[i]->shard);
  }
  begin_anew(model);
  pthread_mutex_unlock(&model->lock);
}

/* What the sample says a capacity would hit more or less than the pool's own. */
static int64_t difference(const oap_capacity_model *model, int i) {
  uint64_t hits = model->now.hits[i] + model->before.hits[i];
  uint64_t own = model->now.hits[OWN_CAPACITY] + model->before.hits[OWN_CAPACITY];
  return (int64_t)(hits - own) * (INT64_C(1) << model->halvings);
}

void oap_capacity_model_estimate(oap_capacity_model *model, oap_capacity_estimates *out) {
  pthread_mutex_lock(&model->lock);
  take_in_all(model);
  uint64_t bytes;
  uint64_t held;
  sum_asked(model, &bytes, &held);
  *out = (oap_capacity_estimates){
      .asked_bytes = bytes - model->before.all_asked,
      .lost = atomic_load_explicit(&model->queue.lost, memory_order_relaxed),
      .sampled_one_in = UINT32_C(1) << model->halvings,
  };
  held -= model->before.all_held;
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    int64_t hits = (int64_t)held + difference(model, i);
    int64_t most = (int64_t)out->asked_bytes;
    out->hit_bytes[i] = (uint64_t)(hits < 0 ? 0 : hits > most ? most : hits);
  }
  pthread_mutex_unlock(&model->lock);
}

const char *oap_capacity_model_validate(oap_capacity_model *model) {
  const char *fault = NULL;
  pthread_mutex_lock(&model->lock);
  for (int i = 0; fault == NULL && i < OAP_CAPACITIES; i++) {
    fault = oap_shard_validate(&model->miniatures[i]->shard);
  }
  pthread_mutex_unlock(&model->lock);
  return fault;
}
