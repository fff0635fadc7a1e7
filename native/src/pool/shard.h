/*
 * A shard: a pool of its own over its part of the positions. Keys are spread over shards by hash,
 * so that threads seldom meet; small pools have one. The lock guards everything but the slots'
 * words and the stripes of counters.
 */
#ifndef OAP_SHARD_H
#define OAP_SHARD_H

#include "index.h"
#include "policy.h"
#include "space.h"

#include <pthread.h>

/* Counters of the lock-free paths, spread over cache lines by thread. Differences, so they may wrap
 * below zero one by one; only their sums mean something. */
typedef struct oap_stripe {
  _Alignas(64) _Atomic uint64_t hits;
  _Atomic uint64_t misses;
  _Atomic uint64_t publishes;
  _Atomic uint64_t chunks;
  _Atomic uint64_t changes; /* of what is visible */
  _Atomic uint64_t pinned;  /* OAP_PINNED of each chunk that is pinned or reserved */
} oap_stripe;

/* Number of chunks in the low bits, their size in units of OAP_ALIGNMENT above: one addition. */
#define OAP_PINNED_SHIFT 24
#define OAP_PINNED(bytes)                                                                          \
  ((((uint64_t)(bytes) + OAP_ALIGNMENT - 1) / OAP_ALIGNMENT << OAP_PINNED_SHIFT) + 1)

#define OAP_STRIPES 16

/* A stripe of an arena. The first bytes of it, as many in each, are in use. */
typedef struct oap_range {
  uint64_t position;
  uint64_t bytes;
} oap_range;

/* Where the next search for room between pinned chunks starts: an extent of a region. */
typedef struct oap_hand {
  uint32_t region;
  uint32_t extent;
} oap_hand;

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
  bool retired;            /* takes no more reservations */
  bool is_resizing;        /* memory goes back to the system later, all at once */
  uint32_t releasing;      /* threads that give memory back to the system, without the lock */
  pthread_cond_t released; /* none does so any more */
  const oap_range *ranges;
  uint32_t range_count;
  const struct oap_arena *arenas; /* that of each range */
  uint64_t part;                  /* bytes in use of each range */
  uint64_t capacity;
  uint64_t most_bytes; /* the largest chunk an empty shard takes */
  uint32_t *regions;   /* first extent of each */
  uint32_t region_count;
  oap_hand hand;
  unsigned char *const *windows;
  void *table;
  uint64_t table_bytes;
  oap_stats counted; /* what is counted under the lock */
  oap_stripe stripes[OAP_STRIPES];
} oap_shard;

/* A shard over these ranges, of arenas in the same order; so far it can hold nothing. Tables are
 * made for so many bytes of each range to be used commonly, all of them at most, and no more than
 * so many slots. 0 or -errno. */
int oap_shard_open(oap_shard *shard, uint32_t number, const oap_range *ranges, uint32_t count,
                   uint64_t part, uint32_t most_slots, const struct oap_arena *arenas,
                   const oap_policy *policy, unsigned char *const *windows);
void oap_shard_close(oap_shard *shard);

/* As in oap_pool.h, for keys that belong to this shard. */
int oap_shard_reserve(oap_shard *shard, const uint64_t key[4], uint64_t hash, uint64_t bytes,
                      oap_chunk *out);
int oap_shard_reserve_free(oap_shard *shard, const uint64_t key[4], uint64_t hash, uint64_t bytes,
                           oap_chunk *out);
int oap_shard_publish(oap_shard *shard, const oap_chunk *chunk);
int oap_shard_set_note(oap_shard *shard, const oap_chunk *chunk, uint64_t note);
int oap_shard_note(oap_shard *shard, const oap_chunk *chunk, uint64_t *note);
int oap_shard_abandon(oap_shard *shard, const oap_chunk *chunk);
int oap_shard_pin(oap_shard *shard, const uint64_t key[4], uint64_t hash, bool is_use,
                  oap_chunk *out);
int oap_shard_unpin(oap_shard *shard, const oap_chunk *chunk);
bool oap_shard_is_held(oap_shard *shard, const uint64_t key[4], uint64_t hash);
int oap_shard_drop(oap_shard *shard, const uint64_t key[4], uint64_t hash);
uint64_t oap_shard_drop_file(oap_shard *shard, uint64_t high, uint64_t low);
uint64_t oap_shard_clear(oap_shard *shard);

/* What walks many slots lets others have the lock after so many. */
#define OAP_SLOTS_AT_ONCE 1024

/* Under the lock: drops a slot that is published or loading. */
void oap_shard_drop_slot(oap_shard *shard, uint32_t number);

/* While the pool is resized, chunks that go give no memory back: it may be what the pool is growing
 * into. oap_shard_release does it afterwards. Waits for threads that have begun to. */
void oap_shard_set_resizing(oap_shard *shard, bool resizing);

/* From now on so many bytes of each range are in use; they have been committed. Chunks above are
 * evicted, or dropped, so that they go with their last pin. */
void oap_shard_resize(oap_shard *shard, uint64_t part);

/* Gives the memory above the limits back to the system, except where chunks still lie; it was in
 * use up to so many bytes of each range. No other thread may resize meanwhile. */
void oap_shard_release(oap_shard *shard, uint64_t part);

/* What chunks that are gone have left above the limits, for the system to take back. */
typedef struct oap_leftover {
  uint32_t count;
  oap_range range[OAP_MAX_PIECES];
} oap_leftover;

/* Under the lock: adds those pages of an extent that is away which a chunk that lay from start to
 * end has touched. */
void oap_shard_leave(oap_shard *shard, oap_leftover *left, uint32_t away, uint64_t start,
                     uint64_t end);

/* Without the lock, which system calls are too slow for: gives that memory back. Called once for
 * each that anything was added to; until then the pool is not resized. */
void oap_shard_release_left(oap_shard *shard, const oap_leftover *left);

/* The range in which a position lies. */
const oap_range *oap_shard_range_of(const oap_shard *shard, uint64_t position);

/* How many slots a shard of that capacity uses. */
uint32_t oap_shard_slots_for(uint64_t capacity);

/* Under the lock: NULL, or what is wrong with regions and limits. */
const char *oap_shard_validate_limits(const oap_shard *shard);

void oap_shard_set_retired(oap_shard *shard, bool retired);

/* Whether anything is reserved or pinned, from the slots' words: a pin is there with the exchange
 * that takes it, while the counters of oap_shard_pinned learn of it later. Or whether memory is
 * being given back to the system. Walks all slots. Misses nothing that lasts through the call;
 * while others come and go it is no more than that. */
bool oap_shard_is_busy(oap_shard *shard);

/* Grows with every chunk that becomes visible or stops being so. */
uint64_t oap_shard_content_version(oap_shard *shard);

/* Appends the published chunks after the first count ones; returns the new count. */
uint64_t oap_shard_list(oap_shard *shard, oap_held *out, uint64_t room, uint64_t count);

/* Adds this shard's figures. */
void oap_shard_stats(oap_shard *shard, oap_stats *sum);

/* How many chunks are pinned or reserved, and the bytes that they keep from others. Exact when no
 * other thread is in the shard; else an estimate, never a reason to let go of memory. */
uint64_t oap_shard_pinned(oap_shard *shard, uint64_t *bytes);
const char *oap_shard_validate(oap_shard *shard);

/* Which of the stripes of counters is the calling thread's. */
unsigned oap_thread_stripe(void);

/* The calling thread's counters. */
oap_stripe *oap_shard_stripe(oap_shard *shard);

/* One chunk more or less is visible; called after it is so. */
static inline void oap_shard_count_visible(oap_shard *shard, int by) {
  oap_stripe *stripe = oap_shard_stripe(shard);
  atomic_fetch_add_explicit(&stripe->chunks, (uint64_t)(int64_t)by, memory_order_relaxed);
  atomic_fetch_add_explicit(&stripe->changes, 1, memory_order_release);
}

static inline unsigned char *oap_shard_address(const oap_shard *shard, uint64_t position) {
  return shard->windows[position / OAP_WINDOW_BYTES] + position % OAP_WINDOW_BYTES;
}

#endif
