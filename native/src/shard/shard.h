/*
 * A shard: a pool of its own over its part of each arena. Keys are spread over shards by hash, so
 * that threads seldom meet; small pools have one. The lock guards everything but the slots' words
 * and the counters.
 *
 * Processes may share a shard. Then its tables lie in a file that all have mapped, and the lock is
 * that of its commons, which takes in what others have changed. See commons.h and holders.h.
 */
#ifndef OAP_SHARD_H
#define OAP_SHARD_H

#include "commons.h"
#include "slots/counters.h"
#include "slots/index.h"

/* Bytes of the pool by their position: a shard's stripe of an arena, or a part of it. */
typedef struct oap_range {
  uint64_t position;
  uint64_t bytes;
} oap_range;

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
  oap_commons *commons; /* NULL: no other process has a part in the shard */
  oap_holders holders;
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
  atomic_bool retired;     /* takes no more reservations, and of this process no pins if shared */
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
  bool (*rebuild)(struct oap_shard *shard, uint32_t dead); /* shared: see the options */
  unsigned hash_shift;
  atomic_bool has_left;         /* shared: this process does not touch the file any more */
  atomic_bool has_leftovers;    /* shared: something waits for a sweep */
  _Atomic uint64_t stuck_until; /* shared: milliseconds; until then nobody waits for the lock */
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
  const _Atomic uint32_t
      *members;        /* of a shared shard, all of which lies there; NULL: of no other */
  uint32_t self;       /* which of them this process is */
  bool is_first;       /* and no other is in it */
  unsigned hash_shift; /* of a key's hash, to get the shard's number */
  /* Under the lock: makes its tables anew after a member died with the lock; false: no memory. */
  bool (*rebuild)(struct oap_shard *shard, uint32_t dead);
} oap_shard_options;

/* What of such a shard lies in a file: so many bytes, a multiple of the page size. The slots come
 * first, the sketch lies somewhere behind them. */
typedef struct oap_kept_plan {
  uint64_t bytes;
  uint64_t sketch_at;
  uint64_t sketch_bytes;
} oap_kept_plan;

oap_kept_plan oap_shard_kept_plan(const oap_shard_options *options);

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

/* How many slots the file gets room for at a time. */
#define OAP_SLOTS_ADDED 16384

/* Under the lock: whether a shared shard's file has room for the extents that a chunk may need. */
bool oap_shard_has_extents(const oap_shard *shard);

/* Opens a shard that can hold nothing yet; see oap_shard_resize, and for a shared one that others
 * are in oap_shard_join. 0 or -errno. */
int oap_shard_open(oap_shard *shard, const oap_shard_options *options);
void oap_shard_close(oap_shard *shard);

/* How many slots a shard of that capacity uses. */
uint32_t oap_shard_slots_for(uint64_t capacity);

/* False, and nothing happens: the lock is not to be had, which setting needs. */
bool oap_shard_set_retired(oap_shard *shard, bool retired);

/* Takes the lock. False only where processes share the shard: one of them has it and does not let
 * go of it, or died with it and the shard cannot be rebuilt. Then the caller goes on as if the
 * chunk were not there, or there were no room. */
bool oap_shard_lock(oap_shard *shard);
void oap_shard_unlock(oap_shard *shard);

/* Under the lock: writes what has changed into the commons, for the next process. */
void oap_shard_write_back(oap_shard *shard);

/* Has this process, which has no pins and loads nothing, touch the file of a shared shard no more:
 * the lock is not to be had, and pins are counted in memory of its own. */
void oap_shard_leave(oap_shard *shard);

/* Tells the others how much this process has pinned. */
void oap_shard_tell_pins(oap_shard *shard);

/* Makes the lock of commons that nobody uses yet. 0 or -errno. */
int oap_shard_make_lock(oap_commons *commons);

/* Counts one visible chunk more or less; called after it is so. */
static inline void oap_shard_count_visible(oap_shard *shard, int by) {
  oap_count_visible(shard->counters, by);
  if (shard->commons != NULL) {
    atomic_fetch_add_explicit(&shard->commons->changes, 1, memory_order_release);
  }
}

/* Grows with every chunk that becomes visible or stops being so. */
uint64_t oap_shard_version(const oap_shard *shard);

/* Under the lock: how many chunks are pinned or reserved, by whomever, and how many bytes they keep
 * from others, about. */
uint64_t oap_shard_pinned(const oap_shard *shard, uint64_t *bytes);

/* Tells whether anything is reserved or pinned, or memory is being given back to the system. Reads
 * the words of all slots: the exchange that takes a pin changes the word, while counters learn of
 * it later. Finds all that lasts through the call; what comes and goes meanwhile may be missed. */
bool oap_shard_is_busy(oap_shard *shard);

/* Appends the published chunks after the first *count ones, and adds to that. False: not all of
 * them, since the lock was not to be had. */
bool oap_shard_list(oap_shard *shard, oap_held *out, uint64_t room, uint64_t *count);

/* Adds this shard's figures. Of a shared one, capacity, used bytes and chunks, those that are being
 * loaded among them, are of all of it; all else is what this process does there. */
void oap_shard_stats(oap_shard *shard, oap_stats *sum);

/* What walks many slots lets others have the lock after so many. */
#define OAP_SLOTS_AT_ONCE 1024

/* Under the lock: lets others have it, after OAP_SLOTS_AT_ONCE slots of a walk. False: it was not
 * to be had again, and the walk is over. */
bool oap_shard_yield(oap_shard *shard, uint32_t slot);

/* The calling thread's counters. */
static inline oap_counters *oap_shard_counters(oap_shard *shard) {
  return &shard->counters[oap_counter_set()];
}

static inline unsigned char *oap_shard_address(const oap_shard *shard, uint64_t position) {
  return shard->windows[position / OAP_WINDOW_BYTES] + position % OAP_WINDOW_BYTES;
}

#endif
