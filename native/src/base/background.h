/*
 * Threads of the library's own, for work that can wait.
 */
#ifndef OAP_BACKGROUND_H
#define OAP_BACKGROUND_H

#include <pthread.h>

/* Starts a thread that takes no signals but those of its own faults. 0 or -errno. */
int oap_background_start(pthread_t *thread, void *(*run)(void *), void *argument);

/* The calling thread gets a processor where nobody else wants one: who reads and writes chunks
 * comes first. */
void oap_background_stand_back(void);

#endif
