/*
 * The pool from inside. Its layers, by folder; a file includes only what stands on a line above its
 * own or on its own line, which dev/lib/layers.py checks.
 *
 * slots: what a table has of each chunk, and of the room that there is
 *   slot                  one word a chunk: state, pins, uses, generation
 *   holders claim         the pins of each process that shares the slots; taking what has none
 *   space index counters  free extents; keys to slots; counts without a lock
 *   space_check           the inner check of free extents
 * arena: mappings, of chunks and of tables
 *   poison bad_blocks     freed memory under AddressSanitizer; what the kernel says of bad memory
 *   arena.h               a mapping of one path or memory node
 *   arena_parts arena_memory arena_file arena_device    what the kinds of mappings are made of
 *   arena.c table         mappings of chunks, of tables
 * policy: who leaves
 *   sketch                frequencies
 *   policy policy_s3fifo policy_lru policy_generations
 * shard: one lock, a part of each arena
 *   commons               what processes that share a shard have of it beside its tables
 *   shard shard_lock shard_plan shard_shared shard_tables    the shard; its tables
 *   stripe                a shard's part of one arena: its limit, and what goes back to the system
 *   content               a chunk's bytes: whether they can be read, their hash
 *   room                  a slot and extents for a chunk: allocate, evict, drop, free
 *   pin                   pin and unpin
 *   shard_check           the inner check
 * home: what outlives a process
 *   home_files home.h home_judge home_shared home.c    files with names, for pools that are kept
 *   rebuild sweep         a table left behind; what a process has left that is gone
 * pool: all arenas and shards
 *   drop chunk resize     drop; reserve and publish; another capacity
 *   leaving               which chunks would leave next
 *   pool.h                the pool
 *   capacity writeback members   resizing, touching in advance, nodes; watches: disks, processes
 *   open pool.c           open, retire, close; the way from keys and chunks to their shards
 */
#ifndef OAP_POOL_INSIDE_H
#define OAP_POOL_INSIDE_H

#include "arena/arena.h"
#include "base/background.h"
#include "home/home.h"
#include "shard/shard.h"

#define OAP_MOST_ARENAS 64 /* one per node or path */

/* The watch over disks: see writeback.h. */
typedef struct oap_writeback {
  oap_periodic thread;
  unsigned every_ms;
  _Atomic uint64_t lost;      /* failures so far, by file; from the first on nothing is reserved */
  atomic_bool has_lost_slots; /* what the slots say may be old, so nobody looks at them any more */
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
  oap_home home;
  oap_periodic members; /* the thread of members.h */

  pthread_mutex_t resizing; /* guards what follows */
  uint64_t part;            /* bytes in use of each stripe */
  uint64_t ever;            /* the most that part ever was */
  bool retired;
  pthread_t prefault; /* a thread, if there is one */
  bool is_prefaulting;
  bool is_closing;
  pthread_cond_t changed;          /* part, is_closing or waiting */
  _Atomic unsigned resizers_ahead; /* who want the lock, and get it before the prefault thread */
};

#endif
