/* The thread that copies down what is about to leave a pool. */
#include "tier.h"

#include "slots/slot.h"

#include <errno.h>
#include <stdlib.h>

/* How many chunks are looked at each time. */
#define LEAVING 16384

/* A chunk that has come into the pool so often is worth keeping. */
#define ARRIVALS_WORTH 2

/* A chunk of the sketch is remembered until about two for each word have come: then few that come
 * for the first time are taken for others. */
#define WORDS_PER_KEY 16

/* How long the thread waits for a chunk to come, at most; and after each look, so that it finds
 * some together. */
enum { IDLE_MS = 100, GATHER_MS = 1 };

void oap_tier_came(oap_tier *tier, const oap_key *key) {
  oap_hashed_key hashed = oap_hashed(key);
  pthread_mutex_lock(&tier->lock);
  oap_sketch_add(&tier->asked, hashed.hash, 1, (tier->asked.mask + 1) / WORDS_PER_KEY);
  pthread_mutex_unlock(&tier->lock);
  oap_tier_wake(tier);
}

void oap_tier_wake(oap_tier *tier) {
  atomic_fetch_add(&tier->came, 1);
  if (atomic_exchange(&tier->is_waiting, false)) {
    pthread_cond_signal(&tier->thread.ending); /* one that comes too early costs IDLE_MS */
  }
}

/* Whether a chunk that is about to leave is worth keeping, and not here yet: it was used since it
 * came, or has come more than once. None is once the tier is off. */
static bool is_worth_keeping(oap_tier *tier, const oap_leaving *chunk) {
  oap_hashed_key hashed = oap_hashed(&chunk->key);
  pthread_mutex_lock(&tier->lock);
  bool is_asked_again =
      chunk->was_used || oap_sketch_count(&tier->asked, hashed.hash) >= ARRIVALS_WORTH;
  bool is_wanted =
      !tier->is_off && is_asked_again && oap_tier_index_find(&tier->index, hashed.words) == 0;
  pthread_mutex_unlock(&tier->lock);
  return is_wanted;
}

static void copy_one(oap_tier *tier, const oap_key *key) {
  oap_chunk chunk;
  uint64_t note;
  if (oap_pool_pin_unused(tier->pool, key, &chunk) != 0) {
    return; /* it has left */
  }
  if (oap_pool_note(tier->pool, &chunk, &note) == 0 && oap_tier_put(tier, key, &chunk, note) == 0 &&
      !oap_pool_is_held(tier->pool, key)) {
    /* It was dropped before it was staged, and from the tier too, perhaps. */
    oap_tier_drop(tier, key);
  }
  oap_pool_unpin(tier->pool, &chunk);
}

void oap_tier_copy_down(oap_tier *tier) {
  uint64_t count = oap_pool_leaving(tier->pool, tier->leaving, LEAVING);
  for (uint64_t i = 0; i < count; i++) {
    if (is_worth_keeping(tier, &tier->leaving[i])) {
      copy_one(tier, &tier->leaving[i].key);
    }
  }
  oap_tier_flush(tier);
}

static bool is_off(oap_tier *tier) {
  pthread_mutex_lock(&tier->lock);
  bool is_off = tier->is_off;
  pthread_mutex_unlock(&tier->lock);
  return is_off;
}

/* Goes on until it is to end, or the tier has switched itself off. Then nobody needs the file. */
static void *follow(void *argument) {
  oap_tier *tier = argument;
  oap_periodic *thread = &tier->thread;
  uint64_t seen = 0;
  pthread_mutex_lock(&thread->lock);
  while (!thread->is_ending && !is_off(tier)) {
    atomic_store(&tier->is_waiting, true);
    uint64_t came = atomic_load(&tier->came);
    if (came == seen) {
      oap_periodic_pause(thread, IDLE_MS);
      continue;
    }
    atomic_store(&tier->is_waiting, false);
    seen = came;
    pthread_mutex_unlock(&thread->lock);
    oap_tier_copy_down(tier);
    pthread_mutex_lock(&thread->lock);
    if (!thread->is_ending) {
      oap_periodic_pause(thread, GATHER_MS);
    }
  }
  pthread_mutex_unlock(&thread->lock);
  if (is_off(tier)) {
    oap_tier_file_empty(&tier->file);
  }
  return NULL;
}

int oap_tier_follow(oap_tier *tier, oap_pool *pool) {
  tier->leaving = calloc(LEAVING, sizeof(*tier->leaving));
  if (tier->leaving == NULL) {
    return -ENOMEM;
  }
  tier->pool = pool;
  int error = oap_periodic_start(&tier->thread, follow, tier);
  return error;
}
