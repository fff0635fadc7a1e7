/* The capacity model: see oap_capacity_model.h. Its life, its thread, and what others tell it and
 * ask it. */
#include "capacity_model.h"

#include "arena/table.h"
#include "pool/drop.h"
#include "shard/shard_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* From one look of the thread into the queue to the next. */
#define PAUSE_MS 100

#define OWN_CAPACITY 3 /* its index there */

/* Gets the lock before the thread gets it again. */
static void enter(oap_capacity_model *model) {
  atomic_fetch_add(&model->callers, 1);
  pthread_mutex_lock(&model->thread.lock);
}

static void leave(oap_capacity_model *model) {
  atomic_fetch_sub(&model->callers, 1);
  pthread_mutex_unlock(&model->thread.lock);
}

static void *run(void *argument) {
  oap_capacity_model *model = argument;
  oap_background_stand_back();
  pthread_mutex_lock(&model->thread.lock);
  while (!model->thread.is_ending) {
    if (oap_model_take_in_some(model) && atomic_load(&model->callers) == 0) {
      pthread_mutex_unlock(&model->thread.lock);
      pthread_mutex_lock(&model->thread.lock);
    } else {
      oap_periodic_pause(&model->thread, PAUSE_MS);
    }
  }
  pthread_mutex_unlock(&model->thread.lock);
  return NULL;
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
    oap_miniature_options options = oap_model_options_of(model, i);
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
    error = oap_periodic_start(&model->thread, run, model);
  }
  if (error != 0) {
    free_model(model);
    return error;
  }
  *out = model;
  return 0;
}

void oap_capacity_model_stop(oap_capacity_model *model) {
  atomic_fetch_add(&model->callers, 1);
  oap_periodic_end(&model->thread);
  atomic_fetch_sub(&model->callers, 1);
}

void oap_capacity_model_close(oap_capacity_model *model) {
  oap_capacity_model_stop(model);
  oap_periodic_destroy(&model->thread);
  free_model(model);
}

/* Hands an event to the thread, if it is about a chunk that is followed. */
static void tell(oap_capacity_model *model, const oap_column_chunk *chunk, oap_event event) {
  const oap_key key = {chunk->file_high, chunk->file_low, chunk->row_group, chunk->column, 0};
  oap_hashed_key hashed = oap_hashed(&key);
  memcpy(event.key, hashed.words, sizeof(event.key));
  uint32_t halvings = atomic_load_explicit(&model->halvings, memory_order_relaxed);
  if (event.kind == OAP_EVENT_DROP_FILE || oap_model_follows(hashed.hash, halvings)) {
    oap_event_queue_write(&model->queue, &event);
  }
}

void oap_capacity_model_ask(oap_capacity_model *model, const oap_column_chunk *chunk,
                            uint64_t bytes, uint64_t weight, bool was_held,
                            enum oap_admission admission) {
  asked *mine = &model->asked[oap_counter_set()];
  oap_count(&mine->bytes, weight);
  if (was_held) {
    oap_count(&mine->held, weight);
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

void oap_capacity_model_resize(oap_capacity_model *model, uint64_t capacity) {
  enter(model);
  oap_model_take_in_all(model);
  model->capacity = capacity;
  oap_model_resize(model);
  oap_model_begin_anew(model);
  leave(model);
}

void oap_capacity_model_clear(oap_capacity_model *model) {
  enter(model);
  oap_model_take_in_all(model);
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_shard_clear(&model->miniatures[i]->shard, NULL);
  }
  oap_model_begin_anew(model);
  leave(model);
}

/* What the sample says a capacity would hit more or less than the pool's own. */
static int64_t difference(const oap_capacity_model *model, int i) {
  uint64_t hits = model->now.hits[i] + model->before.hits[i];
  uint64_t own = model->now.hits[OWN_CAPACITY] + model->before.hits[OWN_CAPACITY];
  return (int64_t)(hits - own) * (INT64_C(1) << model->halvings);
}

void oap_capacity_model_estimate(oap_capacity_model *model, oap_capacity_estimates *out) {
  enter(model);
  oap_model_take_in_all(model);
  uint64_t bytes;
  uint64_t held;
  oap_model_sum_asked(model, &bytes, &held);
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
  leave(model);
}

const char *oap_capacity_model_validate(oap_capacity_model *model) {
  const char *fault = NULL;
  pthread_mutex_lock(&model->thread.lock);
  for (int i = 0; fault == NULL && i < OAP_CAPACITIES; i++) {
    fault = oap_shard_validate(&model->miniatures[i]->shard);
  }
  pthread_mutex_unlock(&model->thread.lock);
  return fault;
}
