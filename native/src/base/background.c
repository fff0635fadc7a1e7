/* Threads of the library's own: see background.h. */
#include "background.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int oap_background_start(pthread_t *thread, void *(*run)(void *), void *argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all); /* signals are for the program's own threads */
  /* But a fault is the thread's own, and the kernel kills the process at once, without the report
   * that a JVM writes, where the signal of one is blocked. */
  const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
    sigdelset(&all, faults[i]);
  }
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(thread, NULL, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return -error;
}

void oap_background_stand_back(void) { setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19); }

int oap_periodic_start(oap_periodic *periodic, void *(*run)(void *), void *argument) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&periodic->ending, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&periodic->lock, NULL);
  int error = oap_background_start(&periodic->thread, run, argument);
  periodic->is_running = error == 0;
  return error;
}

void oap_periodic_pause(oap_periodic *periodic, unsigned milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += milliseconds % 1000 * 1000000L;
  until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&periodic->ending, &periodic->lock, &until);
}

void oap_periodic_end(oap_periodic *periodic) {
  if (periodic->is_running) {
    pthread_mutex_lock(&periodic->lock);
    bool was_ending = periodic->is_ending;
    periodic->is_ending = true;
    pthread_cond_signal(&periodic->ending);
    pthread_mutex_unlock(&periodic->lock);
    if (!was_ending) {
      pthread_join(periodic->thread, NULL);
    }
  }
}

void oap_periodic_destroy(oap_periodic *periodic) {
  oap_periodic_end(periodic);
  if (periodic->is_running) {
    pthread_cond_destroy(&periodic->ending);
    pthread_mutex_destroy(&periodic->lock);
    periodic->is_running = false;
  }
}
