/* The lock of a shard, and what comes with it where processes share it: see shard.h, commons.h. */
#include "shard.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

/* How long a process waits for another one, which may have been stopped; and how long it does not
 * wait again after it has done so in vain. */
enum { WAIT_MS = 200, STUCK_MS = 1000 };

int oap_shard_make_lock(oap_commons *commons) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  int error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (error == 0) {
    error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  }
  if (error == 0) {
    error = pthread_mutex_init(&commons->lock, &attributes);
  }
  pthread_mutexattr_destroy(&attributes);
  return -error;
}

/* Takes in what the last process has written back. */
static void take_in(oap_shard *shard) {
  const oap_commons *commons = shard->commons;
  shard->slot_top = commons->slot_top;
  shard->slot_free = commons->slot_free;
  shard->hand = commons->hand;
  oap_space_copy(&shard->space, &commons->space);
  oap_order_copy(&shard->order, &commons->order);
}

void oap_shard_write_back(oap_shard *shard) {
  oap_commons *commons = shard->commons;
  commons->slot_top = shard->slot_top;
  commons->slot_free = shard->slot_free;
  commons->hand = shard->hand;
  oap_space_copy(&commons->space, &shard->space);
  oap_order_copy(&commons->order, &shard->order);
  oap_shard_tell_pins(shard);
}

/* The clock of the deadline may be set meanwhile: then the wait is longer or shorter by so much. */
static int wait_for_lock(oap_shard *shard) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_MS * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  int error = pthread_mutex_timedlock(&shard->commons->lock, &until);
  if (error == ETIMEDOUT) {
    atomic_store(&shard->stuck_until, oap_milliseconds() + STUCK_MS);
  }
  return error;
}

/* Whoever died with the lock had either changed nothing, or what it changed is made anew. */
static bool is_whole(oap_shard *shard) {
  uint32_t changer = atomic_load(&shard->commons->changer);
  return changer == 0 || shard->rebuild(shard, changer - 1);
}

static bool lock_with_others(oap_shard *shard) {
  pthread_mutex_t *lock = &shard->commons->lock;
  if (atomic_load(&shard->has_left)) {
    return false;
  }
  int error = pthread_mutex_trylock(lock);
  if (error == EBUSY && atomic_load(&shard->stuck_until) <= oap_milliseconds()) {
    error = wait_for_lock(shard);
  }
  if (error == EOWNERDEAD) {
    error = pthread_mutex_consistent(lock);
  }
  if (error != 0) {
    return false;
  }
  atomic_store(&shard->stuck_until, 0);
  if (atomic_load(&shard->has_left)) { /* meanwhile */
    pthread_mutex_unlock(lock);
    return false;
  }
  take_in(shard);
  if (!is_whole(shard)) {
    pthread_mutex_unlock(lock);
    return false;
  }
  atomic_store(&shard->commons->changer, shard->holders.self + 1);
  return true;
}

bool oap_shard_lock(oap_shard *shard) {
  if (shard->commons != NULL) {
    return lock_with_others(shard);
  }
  pthread_mutex_lock(&shard->lock);
  return true;
}

void oap_shard_unlock(oap_shard *shard) {
  if (shard->commons == NULL) {
    pthread_mutex_unlock(&shard->lock);
    return;
  }
  oap_shard_write_back(shard);
  atomic_store(&shard->commons->changer, 0);
  pthread_mutex_unlock(&shard->commons->lock);
}

bool oap_shard_yield(oap_shard *shard, uint32_t slot) {
  if (slot % OAP_SLOTS_AT_ONCE != 0) {
    return true;
  }
  oap_shard_unlock(shard);
  return oap_shard_lock(shard);
}
