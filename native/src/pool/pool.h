/* The pool from inside: what pool.c opens, closes and passes calls to, and capacity.c resizes. */
#ifndef OAP_POOL_INSIDE_H
#define OAP_POOL_INSIDE_H

#include "arena.h"
#include "shard.h"
#include "writeback.h"

#include <pthread.h>

#define OAP_MOST_ARENAS 64 /* one per node or path */

/* See writeback.h. */
typedef struct oap_writeback {
  pthread_t thread;
  bool is_running;
  unsigned every_ms;
  pthread_mutex_t lock; /* guards what follows, and is held while the files are asked */
  pthread_cond_t ending;
  bool is_ending;
  _Atomic uint64_t lost; /* failures so far, by arena; from the first on nothing is reserved */
} oap_writeback;

struct oap_pool {
  oap_arena arenas[OAP_MOST_ARENAS];
  uint32_t arena_count;
  uint64_t window_count;
  unsigned char **windows;
  uint32_t shard_count;
  unsigned shard_shift; /* of the hash; its top bits choose the shard */
  oap_shard *shards;
  oap_writeback writeback;

  pthread_mutex_t resizing; /* guards what follows */
  uint64_t part;            /* bytes in use of each shard's stripe in each arena */
  uint64_t ever;            /* the most that part ever was */
  bool retired;
  pthread_t prefault; /* a thread, if there is one */
  bool is_prefaulting;
  bool is_closing;
  pthread_cond_t changed;          /* part, is_closing or waiting */
  _Atomic unsigned resizers_ahead; /* who want the lock, and get it before the prefault thread */
};

/* What of a capacity each shard uses in each arena. */
uint64_t oap_part_of(uint64_t capacity, uint32_t arenas, uint32_t shards);

/* Each shard has a stripe of every arena, of which it uses the first part. */
uint64_t oap_stripe_of(const oap_pool *pool, const oap_arena *arena);

/* Makes the first bytes of each stripe usable, up to part. 0 or -errno. */
int oap_pool_commit(oap_pool *pool, uint64_t part);

/* Lets the shards use so many bytes of each stripe, which have been committed. */
void oap_pool_use(oap_pool *pool, uint64_t part);

/* Starts the thread that touches the memory in use, or ends it. 0 or -errno. */
int oap_prefault_start(oap_pool *pool);
void oap_prefault_stop(oap_pool *pool);

/* The lock, before the prefault thread gets it again. */
void oap_pool_lock(oap_pool *pool);
void oap_pool_unlock(oap_pool *pool);

#endif
