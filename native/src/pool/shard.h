/*
 * A shard: a pool of its own over its part of each arena. Keys are spread over shards by hash, so
 * that threads seldom meet; small pools have one. The lock guards everything but the slots' words
 * and the counters.
 */
#ifndef OAP_SHARD_H
#define OAP_SHARD_H

#include "counters.h"
#include "index.h"
#include "policy.h"
#include "space.h"

#include <pthread.h>

/* Bytes of the pool by their position: a shard's stripe of an arena, or a part of it. */
typedef struct oap_range {
  uint64_t position;
  uint64_t bytes;
} oap_range;

/* Where the next search for room between pinned chunks starts: an extent of a region. */
typedef struct oap_hand {
  uint32_t region;
  uint32_t extent;
} oap_hand;

/* The part of a shard's table that lies in a file and outlives the process: slots, then the
 * sketch. The file has room for the slots up to *ready, and gets it for more as they come. */
typedef struct oap_kept {
  int file;
  uint64_t offset;
  _Atomic uint32_t *ready; /* NULL: nothing is kept */
  atomic_bool is_growing;  /* for good, once the file is not used any more */
  bool is_left;            /* the table is a copy of this process's own */
  uint64_t next_try;       /* of whoever has is_growing; milliseconds: when to ask for more again */
} oap_kept;

typedef struct oap_shard {
  pthread_mutex_t lock;
  oap_index index;
  oap_space space;
  oap_order order;
  oap_slot *slots;
  uint32_t slot_room;  /* slots there are in the table */
  uint32_t slot_limit; /* slots that may be used; those beyond, from before it shrank, go on */
  uint32_t slot_top;   /* slots ever used */
  uint32_t slot_free;  /* chain of slots to be used again */
  uint32_t number;
  bool is_kept;            /* chunks are hashed when they are published, for a later process */
  bool retired;            /* takes no more reservations */
  bool is_resizing;        /* memory goes back to the system later, all at once */
  uint32_t releasing;      /* threads that give memory back to the system, without the lock */
  pthread_cond_t released; /* none does so any more */
  const oap_range *stripes;
  uint32_t stripe_count;
  const struct oap_arena *arenas; /* that of each stripe */
  uint64_t part;                  /* bytes in use of each stripe, from its start */
  uint64_t capacity;
  uint64_t most_bytes; /* the largest chunk an empty shard takes */
  uint32_t *regions;   /* first extent of each */
  uint32_t region_count;
  oap_hand hand;
  unsigned char *const *windows;
  void *table;
  uint64_t table_bytes;
  oap_kept kept;
  oap_stats counted; /* what is counted under the lock */
  oap_counters counters[OAP_COUNTER_SETS];
} oap_shard;

/* What a shard is made of. */
typedef struct oap_shard_options {
  uint32_t number;
  const oap_range *stripes; /* copied */
  uint32_t stripe_count;
  const struct oap_arena *arenas; /* in the order of the stripes; NULL: nothing lies below them */
  uint64_t part;                  /* bytes of each stripe that are used commonly */
  uint32_t most_slots;            /* however large the stripes are */
  const oap_policy *policy;
  unsigned char *const *windows;
  int kept_file; /* where slots and sketch lie from kept_offset on; only if kept_ready is set */
  uint64_t kept_offset;
  _Atomic uint32_t *kept_ready;
} oap_shard_options;

/* How many bytes of a file such a shard's slots and sketch take; a multiple of the page size. */
uint64_t oap_shard_kept_bytes(const oap_shard_options *options);

/* How many of them, the last ones, are the sketch's. */
uint64_t oap_shard_sketch_bytes(const oap_shard_options *options);

/* Leaves the file as it is now: what becomes of slots from here on is not written to it, and the
 * file is not used any more. 0, also if it was left before, or -errno; then slots are written to it
 * still. By one thread at a time. */
int oap_shard_leave_file(oap_shard *shard);

/* Under the lock: whether the file should get room for more slots soon. */
bool oap_shard_is_short_of_slots(const oap_shard *shard);

/* Without the lock: gets the file room for more slots, unless another thread does or the system has
 * refused it just now. */
void oap_shard_add_slots(oap_shard *shard);

/* Under the lock: whether the file has room for this slot. */
static inline bool oap_shard_is_ready(const oap_shard *shard, uint32_t slot) {
  return shard->kept.ready == NULL || slot <= atomic_load(shard->kept.ready);
}

/* Opens a shard that can hold nothing yet; see oap_shard_resize. 0 or -errno. */
int oap_shard_open(oap_shard *shard, const oap_shard_options *options);
void oap_shard_close(oap_shard *shard);

/* How many slots a shard of that capacity uses. */
uint32_t oap_shard_slots_for(uint64_t capacity);

void oap_shard_set_retired(oap_shard *shard, bool retired);

/* Tells whether anything is reserved or pinned, or memory is being given back to the system. Reads
 * the words of all slots: the exchange that takes a pin changes the word, while counters learn of
 * it later. Finds all that lasts through the call; what comes and goes meanwhile may be missed. */
bool oap_shard_is_busy(oap_shard *shard);

/* Appends the published chunks after the first count ones; returns the new count. */
uint64_t oap_shard_list(oap_shard *shard, oap_held *out, uint64_t room, uint64_t count);

/* Adds this shard's figures. */
void oap_shard_stats(oap_shard *shard, oap_stats *sum);

/* What walks many slots lets others have the lock after so many. */
#define OAP_SLOTS_AT_ONCE 1024

/* Under the lock: lets others have it, after OAP_SLOTS_AT_ONCE slots of a walk. */
static inline void oap_shard_yield(oap_shard *shard, uint32_t slot) {
  if (slot % OAP_SLOTS_AT_ONCE == 0) {
    pthread_mutex_unlock(&shard->lock);
    pthread_mutex_lock(&shard->lock);
  }
}

/* The calling thread's counters. */
static inline oap_counters *oap_shard_counters(oap_shard *shard) {
  return &shard->counters[oap_counter_set()];
}

static inline unsigned char *oap_shard_address(const oap_shard *shard, uint64_t position) {
  return shard->windows[position / OAP_WINDOW_BYTES] + position % OAP_WINDOW_BYTES;
}

#endif
