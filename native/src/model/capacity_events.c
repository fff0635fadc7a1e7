/* The capacity model: what it makes of the events that it is told. See capacity_model.h. */
#include "capacity_model.h"

#include "pool/chunk.h"
#include "pool/drop.h"

#include <string.h>

/* Slots of a miniature, per percent of the pool's capacity that it has and at least. */
#define SLOTS_PER_PERCENT 40
#define LEAST_SLOTS 4096

/* What is counted is forgotten after so many times the pool's capacity, by halves. */
#define WINDOW_CAPACITIES 16

/* What the thread takes in before others get the lock: at its priority, it may have to wait long
 * for a processor while it holds it. */
#define EVENTS_AT_ONCE 64

static const unsigned percents[OAP_CAPACITIES] = OAP_CAPACITY_PERCENTS;

/* Other bits of the hash than those by which tables are ordered. Two shifts: one by 64 would be
 * undefined. */
bool oap_model_follows(uint64_t hash, uint32_t halvings) {
  return oap_mix(hash + UINT64_C(0xd1b54a32d192ed03)) >> 1 >> (63 - halvings) == 0;
}

static uint64_t percent_of(uint64_t capacity, unsigned percent) {
  return capacity / 100 * percent + capacity % 100 * percent / 100;
}

oap_miniature_options oap_model_options_of(const oap_capacity_model *model, int i) {
  uint32_t slots = SLOTS_PER_PERCENT * percents[i];
  return (oap_miniature_options){
      .capacity = percent_of(model->capacity, percents[i]) >> model->halvings,
      .most_slots = slots < LEAST_SLOTS ? LEAST_SLOTS : slots,
      .policy = model->policy,
      .nowhere = model->nowhere,
  };
}

/* Makes a miniature anew, for a capacity or for chunks that have changed. Where there is no memory
 * for it, the former goes on, empty and of another capacity, and what it says is wrong. */
static void resize_miniature(oap_capacity_model *model, int i) {
  oap_miniature_options options = oap_model_options_of(model, i);
  oap_miniature *resized;
  if (oap_miniature_open_from(&options, model->miniatures[i], oap_model_follows, model->halvings,
                              &resized) == 0) {
    oap_miniature_close(model->miniatures[i]);
    model->miniatures[i] = resized;
  } else {
    oap_shard_clear(&model->miniatures[i]->shard, NULL);
  }
}

static void halve_window(window *w) {
  w->asked /= 2;
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    w->hits[i] /= 2;
  }
}

/* Follows half of the chunks from now on; what was counted of all of them weighs half. Nothing more
 * is taken in until the miniatures have been made anew, one at a time. */
static void follow_fewer(oap_capacity_model *model) {
  atomic_fetch_add_explicit(&model->halvings, 1, memory_order_relaxed);
  model->outdated = OAP_CAPACITIES;
  halve_window(&model->now);
  halve_window(&model->before);
}

void oap_model_sum_asked(const oap_capacity_model *model, uint64_t *bytes, uint64_t *held) {
  *bytes = 0;
  *held = 0;
  for (int i = 0; i < OAP_COUNTER_SETS; i++) {
    *bytes += atomic_load_explicit(&model->asked[i].bytes, memory_order_relaxed);
    *held += atomic_load_explicit(&model->asked[i].held, memory_order_relaxed);
  }
}

static window new_window(const oap_capacity_model *model) {
  window w = {0};
  oap_model_sum_asked(model, &w.all_asked, &w.all_held);
  return w;
}

static bool is_any_full(const oap_capacity_model *model) {
  bool is_full = false;
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    is_full |= oap_miniature_is_full(model->miniatures[i]);
  }
  return is_full;
}

static void ask(oap_capacity_model *model, const oap_event *event, const oap_hashed_key *key) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature *m = model->miniatures[i];
    if (oap_miniature_use(m, key)) {
      model->now.hits[i] += event->weight;
    } else if (event->admission != OAP_ADMIT_NEVER) {
      oap_miniature_insert(m, key, event->bytes, event->admission == OAP_ADMIT);
    }
  }
  model->now.asked += event->weight;
}

static void take_in(oap_capacity_model *model, const oap_event *event) {
  oap_hashed_key key = {.hash = oap_key_hash(event->key)};
  memcpy(key.words, event->key, sizeof(key.words));
  if (event->kind != OAP_EVENT_DROP_FILE && !oap_model_follows(key.hash, model->halvings)) {
    return; /* told before fewer were followed */
  }
  if (event->kind == OAP_EVENT_ASK) {
    ask(model, event, &key);
  }
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    oap_miniature *m = model->miniatures[i];
    if (event->kind == OAP_EVENT_PUT) {
      oap_miniature_replace(m, &key, event->bytes);
    } else if (event->kind == OAP_EVENT_DROP) {
      oap_shard_drop(&m->shard, &key);
    } else if (event->kind == OAP_EVENT_DROP_FILE) {
      oap_shard_drop_file(&m->shard, event->key[0], event->key[1]);
    }
  }
  if (is_any_full(model)) {
    follow_fewer(model);
  }
}

/* A window ends when all is taken in, so that it and the counts of all asks are about the same; or
 * when as much is as ever waits. */
static void end_window(oap_capacity_model *model) {
  model->taken_in = 0;
  if (model->now.asked > (WINDOW_CAPACITIES * model->capacity) >> model->halvings) {
    model->before = model->now;
    model->now = new_window(model);
  }
}

bool oap_model_take_in_some(oap_capacity_model *model) {
  if (model->outdated > 0) {
    resize_miniature(model, --model->outdated);
    return true;
  }
  oap_event event;
  int count = 0;
  while (count < EVENTS_AT_ONCE && model->outdated == 0 &&
         oap_event_queue_read(&model->queue, &event)) {
    take_in(model, &event);
    count++;
  }
  model->taken_in += (uint32_t)count;
  bool is_more = count == EVENTS_AT_ONCE || model->outdated > 0;
  if (!is_more || model->taken_in >= OAP_ASKS_WAITING) {
    end_window(model);
  }
  return is_more;
}

void oap_model_take_in_all(oap_capacity_model *model) {
  uint64_t first = model->queue.read;
  while (oap_model_take_in_some(model) &&
         (model->queue.read - first < OAP_ASKS_WAITING || model->outdated > 0)) {
  }
}

void oap_model_resize(oap_capacity_model *model) {
  for (int i = 0; i < OAP_CAPACITIES; i++) {
    resize_miniature(model, i);
  }
}

void oap_model_begin_anew(oap_capacity_model *model) {
  model->now = new_window(model);
  model->before = model->now;
}
