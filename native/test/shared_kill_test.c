/* Processes that share a pool, several threads each, are killed at random times while the others go
 * on. All that anybody reads is right; after each of them nothing is left of it; in the end the
 * pool is sound and empty. */
#include "shared_work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 3
#define THREADS 2
#define KILL_EVERY_MS 25
#define CAPACITY (UINT64_C(1) << 18)
#define MOST_BYTES (CAPACITY / 16)

/* Shared with the children. */
typedef struct shared {
  _Atomic uint64_t operations;
  _Atomic uint64_t hits;
  _Atomic uint64_t opened;
} shared;

static shared *m;
static oap_pool *pool;

static void *operate(void *seed) {
  work w = {.pool = pool, .most_bytes = MOST_BYTES, .random = *(const uint64_t *)seed};
  for (;;) {
    uint64_t hits = w.hits;
    work_once(&w);
    atomic_fetch_add(&m->operations, 1);
    atomic_fetch_add(&m->hits, w.hits - hits);
  }
  return NULL;
}

static void run_child(uint64_t seed) {
  pool = work_open(CAPACITY);
  atomic_fetch_add(&m->opened, 1);
  uint64_t seeds[THREADS];
  for (uint64_t t = 0; t < THREADS; t++) {
    pthread_t thread;
    seeds[t] = seed + t;
    CHECK(pthread_create(&thread, NULL, operate, &seeds[t]) == 0);
  }
  for (;;) {
    pause();
  }
}

static pid_t start(uint64_t seed) {
  pid_t child = check_fork();
  if (child == 0) {
    run_child(seed);
  }
  return child;
}

static void kill_one(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, WNOHANG) == 0); /* it has not ended by a fault */
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* By the clock: on a busy machine a pause of 100 takes ten times as long. */
static uint64_t microseconds(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  if (!check_may_fork()) {
    return 0;
  }
  home_clear();
  m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(m != MAP_FAILED);
  uint64_t random = check_seed;
  uint64_t kills = check_runs(40);
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = start(random_next(&random));
  }
  while (atomic_load(&m->opened) < PROCESSES) {
    usleep(100);
  }
  work mine = {.pool = work_open(CAPACITY), .most_bytes = MOST_BYTES, .random = check_seed};
  for (uint64_t i = 0; i < kills; i++) {
    uint64_t end = microseconds() + random_below(&random, 2000 * KILL_EVERY_MS);
    while (microseconds() < end) {
      work_once(&mine);
      usleep(100);
    }
    int which = (int)random_below(&random, PROCESSES);
    kill_one(children[which]);
    children[which] = start(random_next(&random));
  }
  for (int i = 0; i < PROCESSES; i++) {
    kill_one(children[i]);
  }
  for (int i = 0; oap_pool_members(mine.pool) > 1; i++) {
    CHECK(i < 10000);
    usleep(1000);
  }
  work_close(&mine);
  printf("%llu operations, %llu hits\n", (unsigned long long)m->operations,
         (unsigned long long)m->hits);
  CHECK(kills < 20 || m->hits > 0);
  home_clear();
  return 0;
}
