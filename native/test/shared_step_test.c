/* A process that shares a pool is killed after any one of its instructions: what another process
 * has pinned stays right, the pool goes on, nothing of the dead one stays behind, and what is found
 * is right. Steps by ptrace(2); where that is forbidden, nothing is tested. */
#include "shared_work.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the longest operation takes, about, and what 97 of 100 take at most. Chunks are small, lest
 * filling them takes most of it. */
#define MOST_STEPS 20000
#define USUAL_STEPS 5000
#define MOST_BYTES 1000

static void operate(uint64_t seed) {
  work w = {.pool = work_open(OAP_LEAST_CAPACITY), .most_bytes = MOST_BYTES, .random = seed};
  for (uint64_t i = random_below(&w.random, 20); i > 0; i--) {
    work_once(&w);
  }
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
    _exit(77);
  }
  raise(SIGSTOP);
  for (;;) {
    work_once(&w);
  }
}

/* Lets a process take so many instructions, and kills it. False: that is forbidden. */
static bool step_and_kill(uint64_t seed, uint64_t steps) {
  pid_t child = check_fork();
  if (child == 0) {
    operate(seed);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) {
    CHECK(WEXITSTATUS(status) == 77);
    return false;
  }
  CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  for (uint64_t i = 0; i < steps; i++) {
    CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    CHECK(waitpid(child, &status, 0) == child);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
      CHECK(WIFSTOPPED(status)); /* else it has ended by a fault */
    }
  }
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  return true;
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  if (!check_may_fork()) {
    return 0;
  }
  home_clear();
  uint64_t random = check_seed;
  /* The sanitizer's own instructions take most of the steps. */
  uint64_t runs = check_runs(check_is_addresssan() ? 10 : 40);
  work mine = {
      .pool = work_open(OAP_LEAST_CAPACITY), .most_bytes = MOST_BYTES, .random = check_seed + 1};
  for (uint64_t i = 0; i < runs; i++) {
    for (int k = 0; k < 10; k++) {
      work_once(&mine);
    }
    uint64_t seed = random_next(&random);
    uint64_t most = random_below(&random, 8) == 0 ? MOST_STEPS : USUAL_STEPS;
    if (!step_and_kill(seed, random_below(&random, most))) {
      puts("skipped: ptrace is forbidden here");
      return 0;
    }
    for (int k = 0; k < 20; k++) {
      work_once(&mine);
    }
    oap_pool *next =
        work_open(OAP_LEAST_CAPACITY); /* has the dead one's number, and takes its things away */
    CHECK(oap_pool_origin(next)->is_joined && oap_pool_members(next) == 2);
    CHECK_VALID(mine.pool);
    pool_close(next);
  }
  work_close(&mine);
  printf("%llu hits\n", (unsigned long long)mine.hits);
  CHECK(runs < 10 || mine.hits > 0);
  home_clear();
  return 0;
}
