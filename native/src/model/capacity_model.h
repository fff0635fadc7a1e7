/*
 * The capacity model from inside. Its layers, of which each may use those above it here:
 *
 *   event_queue miniature   what others tell the model; a shard whose chunks lie nowhere
 *   capacity_model.h        the model
 *   capacity_events         what it makes of events
 *   capacity_model.c        its life and its thread; what others tell it and ask it
 */
#ifndef OAP_CAPACITY_MODEL_INSIDE_H
#define OAP_CAPACITY_MODEL_INSIDE_H

#include "base/background.h"
#include "event_queue.h"
#include "miniature.h"

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
  asked asked[OAP_COUNTER_SETS];
  _Atomic uint32_t halvings; /* one chunk of two to the power of this is followed */
  const oap_policy *policy;
  unsigned char *nowhere; /* where the chunks of the miniatures lie, untouched */

  _Atomic unsigned callers; /* who want the lock, and get it before the thread gets it again */
  oap_periodic thread;      /* its lock guards what follows, and reading from the queue */
  uint64_t capacity;        /* of the pool */
  window now;
  window before;
  uint32_t taken_in; /* events since a window could end */
  int outdated;      /* so many of the miniatures are yet to be made for fewer chunks */
  oap_miniature *miniatures[OAP_CAPACITIES];
};

/* Whether a chunk is in the sample when it has been halved so many times. */
bool oap_model_follows(uint64_t hash, uint32_t halvings);

/* Of the i-th miniature, as the model is now. */
oap_miniature_options oap_model_options_of(const oap_capacity_model *model, int i);

/* Sums of all asks so far. */
void oap_model_sum_asked(const oap_capacity_model *model, uint64_t *bytes, uint64_t *held);

/* Under the lock: does a part of what waits to be done, which is never much. False: nothing waits.
 */
bool oap_model_take_in_some(oap_capacity_model *model);

/* Under the lock: takes in what waits, though not for ever what comes meanwhile. */
void oap_model_take_in_all(oap_capacity_model *model);

/* Under the lock, when all has been taken in: makes all miniatures anew, for another capacity. */
void oap_model_resize(oap_capacity_model *model);

/* Under the lock: forgets what was counted, which is of a pool that is no more. */
void oap_model_begin_anew(oap_capacity_model *model);

#endif
