/*
 * The pool from inside. Its layers; a file includes only what stands on a line above its own or on
 * its own line, which dev/lib/layers.py checks:
 *
 *   slot                  one word a chunk: state, pins, uses, generation
 *   holders claim         the pins of each process that shares the slots; taking what has none
 *   poison bad_blocks     freed memory under AddressSanitizer; what the kernel says of bad memory
 *   arena.h               a mapping of one path or memory node
 *   arena_parts arena_memory arena_file arena_device    what the kinds of mappings are made of
 *   home_files home.h home_judge home_shared home.c    files with names, for pools that are kept
 *   arena.c table         mappings of chunks, of tables
 *   space index sketch counters   free extents; keys to slots; frequencies; counts without a lock
 *   policy policy_s3fifo policy_lru policy_generations    who leaves
 *   commons               what processes that share a shard have of it beside its tables
 *   shard shard_lock shard_plan shard_shared shard_tables    one lock, a part of each arena; tables
 *   stripe                a shard's part of one arena: its limit, and what goes back to the system
 *   content               a chunk's bytes: whether they can be read, their hash
 *   room                  a slot and extents for a chunk: allocate, evict, drop, free
 *   pin                   pin and unpin
 *   drop chunk resize     drop; reserve and publish; another capacity
 *   rebuild sweep         a table left behind; what a process has left that is gone
 *   leaving               which chunks would leave next
 *   space_check shard_check      the inner check
 *   pool.h                all arenas and shards
 *   capacity writeback members   resizing, touching in advance, nodes; watches: disks, processes
 *   open pool.c           open, retire, close; the way from keys and chunks to their shards
 */
#ifndef OAP_POOL_INSIDE_H
#define OAP_POOL_INSIDE_H

#include "arena.h"
#include "base/background.h"
#include "home.h"
#include "shard.h"

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
