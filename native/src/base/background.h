/* Threads of the library's own, for work that can wait. */
#ifndef OAP_BACKGROUND_H
#define OAP_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes no signals but those of its own faults. 0 or -errno. */
int oap_background_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* Lets the calling thread run only where nobody else wants the processor: whoever reads and writes
 * chunks comes first. */
void oap_background_stand_back(void);

/* A thread that looks for work now and then, under a lock, until it is to end. */
typedef struct oap_periodic {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t ending;
  bool is_running; /* or was, until oap_periodic_destroy */
  bool is_ending;  /* under the lock */
} oap_periodic;

/* Starts it on memory that is zero. 0 or -errno. */
int oap_periodic_start(oap_periodic *periodic, void *(*run)(void *), void *argument);

/* Under the lock, by the thread itself: waits without the lock for so long, or until it is to end.
 */
void oap_periodic_pause(oap_periodic *periodic, unsigned milliseconds);

/* Ends it, unless it was never started or was ended before. */
void oap_periodic_end(oap_periodic *periodic);

/* Ends it, and destroys its lock. */
void oap_periodic_destroy(oap_periodic *periodic);

#endif
