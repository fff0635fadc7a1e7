/*
 * Counts what a thread does from taking a lock to giving it back, whatever others it takes
 * meanwhile, so that tests can bound how long others wait without measuring time. A test that uses
 * it is linked with under_lock.c and has the calls below go through it, as CMakeLists.txt says.
 */
#ifndef OAP_UNDER_LOCK_H
#define OAP_UNDER_LOCK_H

#include <pthread.h>
#include <stdint.h>

enum counted { LOOKS, REMOVALS, EVENTS, COPIES, KINDS_COUNTED };

/* The calling thread has done one more. */
void under_lock_count(enum counted what);

/* Of all threads, since the last reset: the most under one lock, and all, with locks or without. */
unsigned under_lock_most(enum counted what);
uint64_t under_lock_all(enum counted what);
void under_lock_reset(void);

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
                                  const struct timespec *until);

#endif
