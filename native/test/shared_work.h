/* Random work on a pool that processes share, which checks all that it reads. */
#ifndef OAP_TEST_SHARED_WORK_H
#define OAP_TEST_SHARED_WORK_H

#include "home.h"

#include <sys/types.h>

#define WORK_KEYS 64
#define WORK_HELD 4

/* What one worker has pinned. */
typedef struct work {
  oap_pool *pool;
  uint64_t most_bytes; /* of a chunk */
  uint64_t random;
  oap_key key[WORK_HELD];
  oap_chunk chunk[WORK_HELD];
  unsigned count;
  uint64_t hits;
} work;

oap_options work_options(uint64_t capacity);

/* Opens a pool with these. */
oap_pool *work_open(uint64_t capacity);

/* Does one thing. */
void work_once(work *w);

/* Checks that all that is pinned is right, and ends the pins. */
void work_end(work *w);

/* In the end, when no other process is in the pool any more: checks that it is sound, and that all
 * goes when it is cleared. Closes it. */
void work_close(work *w);

#endif
