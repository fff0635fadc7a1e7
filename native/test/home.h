/* Pools that outlive their process: a directory for them, how they are opened, and what their files
 * hold. */
#ifndef OAP_TEST_HOME_H
#define OAP_TEST_HOME_H

#include "check.h"

/* An empty directory of this process, on tmpfs where there is one, or below OAP_TEST_PATH. */
const char *home_directory(void);

/* Removes everything in the directory of homes. */
void home_clear(void);

/* Options for a pool there, of one shard unless told otherwise. */
oap_options home_options(uint64_t capacity);

/* Opens a pool that must be valid; whether it goes on with another one. */
bool home_open(const oap_options *options, oap_pool **pool);

/* How many files with that ending there are. */
unsigned home_count(const char *ending);

/* Runs a function in a child process, kills it so many microseconds after it has said that it is at
 * work by setting *is_working (in shared memory), and waits. It must not have ended by a fault. */
void home_run_and_kill(void (*run)(void *), void *argument, volatile uint64_t *is_working,
                       unsigned microseconds);

/* The path of a pool's file with that ending. */
const char *home_file(const oap_pool *pool, const char *ending);

#endif
