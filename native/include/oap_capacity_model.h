/*
 * What a pool would hit with more or less room: miniatures of it at several capacities, of metadata
 * only and under the pool's own policy, are fed with what readers ask for (Waldspurger et al.,
 * "Cache Modeling and Optimization using Miniature Simulations", USENIX ATC 2017).
 *
 * Chunks are sampled by a hash of their key, and the miniatures are as much smaller: when one of
 * them would have to know of more chunks than its table takes, half of the chunks are left out from
 * then on (Waldspurger et al., "Efficient MRC Construction with SHARDS", FAST 2015). So a model
 * takes at most 22 MiB, and less where there are few chunks, besides 1 GiB of addresses.
 *
 * Threads: all functions but open and close may be called by any thread at any time. Asks are
 * handed to a thread of low priority that the model has: they take no lock and never wait, and are
 * lost when more than OAP_ASKS_WAITING are waiting for it. Those of one thread keep their order.
 */
#ifndef OAP_CAPACITY_MODEL_H
#define OAP_CAPACITY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct oap_capacity_model oap_capacity_model;

/* The capacities that are modelled, in percent of the pool's. */
#define OAP_CAPACITIES 9
#define OAP_CAPACITY_PERCENTS                                                                      \
  { 25, 50, 75, 100, 125, 150, 200, 300, 400 }

#define OAP_ASKS_WAITING 16384

/* A column chunk, whatever its representation. */
typedef struct oap_column_chunk {
  uint64_t file_high;
  uint64_t file_low;
  uint32_t row_group;
  uint32_t column;
} oap_column_chunk;

/* What becomes of a chunk that is asked for and not held. */
enum oap_admission {
  OAP_ADMIT,           /* it enters, others leave for it */
  OAP_ADMIT_INTO_FREE, /* it enters if there is room that nothing has */
  OAP_ADMIT_NEVER      /* it is read around the pool */
};

typedef struct oap_capacity_estimates {
  uint64_t asked_bytes;               /* what readers asked for lately */
  uint64_t hit_bytes[OAP_CAPACITIES]; /* what of it a pool of that capacity has; at 100 percent:
                                         what the pool had */
  uint64_t lost;                      /* asks lost since open */
  uint32_t sampled_one_in;            /* of so many chunks one is followed */
} oap_capacity_estimates;

/* Makes a model of a pool of that policy (as in oap_options) and capacity, empty. EINVAL: no such
 * policy. Other errors, of memory and threads, as the system gave them. *out is written only on
 * success. */
int oap_capacity_model_open(const char *policy, uint64_t capacity, oap_capacity_model **out);

/* Ends the thread. What is told to the model from then on is lost. */
void oap_capacity_model_stop(oap_capacity_model *model);

/* Gives the memory back. No other thread may be in the model or enter it. */
void oap_capacity_model_close(oap_capacity_model *model);

/* A reader has asked for a chunk that takes so many bytes of the pool, or would; weight is what it
 * counts in ratios, and was_held whether the pool had it. */
void oap_capacity_model_ask(oap_capacity_model *model, const oap_column_chunk *chunk,
                            uint64_t bytes, uint64_t weight, bool was_held,
                            enum oap_admission admission);

/* A chunk has entered the pool without being asked for, or in place of its other representation. */
void oap_capacity_model_put(oap_capacity_model *model, const oap_column_chunk *chunk,
                            uint64_t bytes);

/* A chunk, or all of a file, has been dropped. */
void oap_capacity_model_drop(oap_capacity_model *model, const oap_column_chunk *chunk);
void oap_capacity_model_drop_file(oap_capacity_model *model, uint64_t high, uint64_t low);

/* The pool has another capacity, or has been cleared. What was counted so far is forgotten. */
void oap_capacity_model_resize(oap_capacity_model *model, uint64_t capacity);
void oap_capacity_model_clear(oap_capacity_model *model);

/* What the asks so far come to. Lately is the last 16 to 32 times the pool's capacity in bytes
 * asked for; all of them while there are fewer. Waits for the asks that the thread has taken. */
void oap_capacity_model_estimate(oap_capacity_model *model, oap_capacity_estimates *out);

/* Checks the inner structure of the model, for tests. Returns NULL, or what is wrong (a static
 * string). */
const char *oap_capacity_model_validate(oap_capacity_model *model);

#endif
