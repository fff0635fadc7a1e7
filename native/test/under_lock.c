/* See under_lock.h. */
#include "under_lock.h"

#include <stdatomic.h>
#include <stddef.h>

static _Thread_local pthread_mutex_t *outermost;
static _Thread_local unsigned now[KINDS_COUNTED];
static _Atomic unsigned most[KINDS_COUNTED];
static _Atomic uint64_t all[KINDS_COUNTED];

void under_lock_count(enum counted what) {
  now[what] += outermost != NULL;
  atomic_fetch_add(&all[what], 1);
}

unsigned under_lock_most(enum counted what) { return atomic_load(&most[what]); }

uint64_t under_lock_all(enum counted what) { return atomic_load(&all[what]); }

void under_lock_reset(void) {
  for (int i = 0; i < KINDS_COUNTED; i++) {
    atomic_store(&most[i], 0);
    atomic_store(&all[i], 0);
  }
}

static void lock_ends(void) {
  for (int i = 0; i < KINDS_COUNTED; i++) {
    unsigned before = atomic_load(&most[i]);
    while (before < now[i] && !atomic_compare_exchange_weak(&most[i], &before, now[i])) {
    }
    now[i] = 0;
  }
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock) {
  outermost = outermost == NULL ? lock : outermost;
  return __real_pthread_mutex_lock(lock);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock) {
  if (lock == outermost) {
    lock_ends();
    outermost = NULL;
  }
  return __real_pthread_mutex_unlock(lock);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until) {
  lock_ends(); /* it is given up while the thread waits */
  return __real_pthread_cond_timedwait(condition, lock, until);
}
