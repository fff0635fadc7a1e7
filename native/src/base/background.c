/* Threads of the library's own: see background.h. */
#include "background.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
