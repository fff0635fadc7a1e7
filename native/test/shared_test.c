/* A pool that processes share: what one puts in, all find; what one has pinned stays; who comes,
 * who goes, who is stopped or killed; and what is no pool to be shared. */
#include "base/clock.h"
#include "shared_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 20)
#define BYTES 30000

/* What parent and child tell each other. */
static volatile int *said;

static oap_key key_of(uint32_t k) { return key_numbered(k, 1, k); }

static oap_pool *open_shared(uint64_t capacity) {
  oap_pool *pool = work_open(capacity);
  CHECK_VALID(pool);
  return pool;
}

static void wait_until_said(int what) {
  while (*said != what) {
    usleep(200);
  }
}

static pid_t start(void (*run)(void)) {
  *said = 0;
  pid_t child = check_fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  return child;
}

static void end(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void kill_and_wait(pid_t child) {
  int status;
  CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
}

/* A second at most until a process that is gone has been swept. */
static void wait_for_members(const oap_pool *pool, uint32_t count) {
  for (int i = 0; oap_pool_members(pool) != count; i++) {
    CHECK(i < 5000);
    usleep(1000);
  }
}

static void check_pinned(oap_pool *pool, uint32_t k) {
  oap_key key = key_of(k);
  oap_chunk chunk;
  CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
  CHECK(chunk_is_right(&key, &chunk));
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
}

/* ---- What one has, all have ---- */

static void put_and_go(void) {
  oap_pool *pool = open_shared(CAPACITY);
  CHECK(oap_pool_origin(pool)->is_joined && oap_pool_members(pool) == 2);
  check_pinned(pool, 1);
  oap_key key = key_of(2);
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  pool_close(pool);
}

static void finds_what_others_put(void) {
  home_clear();
  oap_pool *pool = open_shared(CAPACITY);
  CHECK(!oap_pool_origin(pool)->is_joined && oap_pool_members(pool) == 1);
  oap_key key = key_of(1);
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  uint64_t version = oap_pool_content_version(pool);
  end(start(put_and_go));
  CHECK(oap_pool_members(pool) == 1);
  CHECK(oap_pool_content_version(pool) != version);
  check_pinned(pool, 2);
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  CHECK(stats.chunks == 2 && stats.hits == 1);
  CHECK(oap_pool_resize(pool, 2 * CAPACITY) == -EOPNOTSUPP);
  CHECK(home_count(".meta") == 1);
  pool_close(pool);
  pool = open_shared(CAPACITY); /* all have gone, and what they had is still there */
  CHECK(oap_pool_origin(pool)->is_reopened && !oap_pool_origin(pool)->is_joined);
  CHECK(oap_pool_origin(pool)->chunks == 2);
  check_pinned(pool, 1);
  pool_close(pool);
}

/* ---- Pins of others ---- */

static uint64_t used_bytes(oap_pool *pool) {
  oap_stats stats;
  oap_pool_stats(pool, &stats);
  return stats.used_bytes;
}

/* Pins one chunk, drops another that the parent has pinned, loads a third for ever. */
static void hold(void) {
  oap_pool *pool = open_shared(CAPACITY);
  oap_key key = key_of(1);
  oap_key dropped = key_of(2);
  oap_key loading = key_of(3);
  oap_chunk chunk;
  oap_chunk reserved;
  CHECK(oap_pool_pin(pool, &key, &chunk) == 0);
  CHECK(oap_pool_drop(pool, &dropped) == 0);
  CHECK(oap_pool_reserve(pool, &loading, BYTES, &reserved) == 0);
  *said = 1;
  for (;;) {
    CHECK(chunk_is_right(&key, &chunk));
    usleep(100);
  }
}

/* Fills the pool several times over; whether a chunk is still there then. */
static bool survives(oap_pool *pool, uint32_t k) {
  for (uint32_t i = 0; i < 200; i++) {
    oap_key other = key_of(1000 + i);
    int result = chunk_put(pool, &other, BYTES);
    CHECK(result == 0 || result == -EEXIST);
  }
  oap_key key = key_of(k);
  return oap_pool_is_held(pool, &key);
}

static void pins_count_for_all(void) {
  home_clear();
  oap_pool *pool = open_shared(CAPACITY);
  oap_key first = key_of(1);
  oap_key second = key_of(2);
  oap_key third = key_of(3);
  oap_chunk chunk;
  CHECK(chunk_put(pool, &first, BYTES) == 0 && chunk_put(pool, &second, BYTES) == 0);
  CHECK(oap_pool_pin(pool, &second, &chunk) == 0);
  pid_t child = start(hold);
  wait_until_said(1);
  CHECK(!oap_pool_is_held(pool, &second)); /* dropped, and still mine */
  oap_chunk none;
  CHECK(oap_pool_reserve(pool, &third, BYTES, &none) == -EINPROGRESS);
  CHECK(survives(pool, 1));
  CHECK(chunk_is_right(&second, &chunk));
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  CHECK_VALID(pool);
  kill_and_wait(child);
  wait_for_members(pool, 1);
  CHECK_VALID(pool);
  CHECK(chunk_put(pool, &third, BYTES) == 0); /* nobody is loading it any more */
  oap_pool_clear(pool);
  CHECK(used_bytes(pool) == 0); /* nor has anybody pinned anything */
  pool_close(pool);
}

/* ---- Those who are stopped ---- */

/* Changes the pool all the time. */
static void change(void) {
  oap_pool *pool = open_shared(CAPACITY);
  *said = 1;
  for (uint32_t i = 0;; i = (i + 1) % 500) {
    oap_key key = key_of(i);
    chunk_put(pool, &key, BYTES);
  }
}

static void join_and_go(void) { CHECK(oap_pool_close(work_open(CAPACITY)) == 0); }

/* However a process is stopped, others wait little, and go on when it does. */
static void nobody_waits_for_the_stopped(void) {
  home_clear();
  oap_pool *pool = open_shared(CAPACITY);
  pid_t child = start(change);
  wait_until_said(1);
  unsigned stuck = 0;
  for (uint32_t i = 0; i < 200 && stuck == 0; i++) {
    int status;
    CHECK(kill(child, SIGSTOP) == 0 && waitpid(child, &status, WUNTRACED) == child);
    uint64_t before = oap_milliseconds();
    for (uint32_t k = 0; k < 20; k++) {
      oap_key key = key_of(5000 + k);
      int result = chunk_put(pool, &key, BYTES);
      CHECK(result == 0 || result == -EEXIST || result == -ENOSPC);
      stuck += result == -ENOSPC;
    }
    CHECK(oap_milliseconds() - before < 10000);
    if (stuck > 0) {
      uint64_t version;
      pid_t newcomer = start(join_and_go); /* checks nothing, as the child goes on meanwhile */
      oap_pool_snapshot(pool, NULL, 0, &version);
      CHECK(version == OAP_NO_VERSION); /* what is listed now is not all */
      usleep(300000);                   /* longer than a lock is waited for */
      CHECK(kill(child, SIGCONT) == 0);
      end(newcomer);
    }
    CHECK(kill(child, SIGCONT) == 0);
    usleep(500);
  }
  printf("stopped with the lock: %u\n", stuck);
  kill_and_wait(child);
  wait_for_members(pool, 1);
  usleep(1100000); /* the pool waits for a lock again, where it did not get it */
  CHECK_VALID(pool);
  pool_close(pool);
}

/* ---- What cannot be shared, or not together ---- */

static void join_and_wait(void) {
  oap_pool *pool = open_shared(CAPACITY);
  CHECK(oap_pool_origin(pool)->is_joined);
  (*said)++;
  for (;;) {
    pause();
  }
}

static void has_a_bound(void) {
  home_clear();
  oap_options options = work_options(CAPACITY);
  oap_pool *pool = open_shared(CAPACITY);
  pid_t children[OAP_MOST_MEMBERS - 1];
  for (int i = 0; i < OAP_MOST_MEMBERS - 1; i++) {
    children[i] = start(join_and_wait);
    wait_until_said(1);
  }
  CHECK(oap_pool_members(pool) == OAP_MOST_MEMBERS);
  oap_pool *one_more;
  CHECK(oap_pool_open(&options, &one_more) == -EUSERS);
  for (int i = 0; i < OAP_MOST_MEMBERS - 1; i++) {
    kill_and_wait(children[i]);
  }
  wait_for_members(pool, 1);
  CHECK(oap_pool_retire(pool) == 0 && oap_pool_retire(pool) == 0);
  CHECK(oap_pool_close(pool) == 0);
}

static void others_do_not_join(void) {
  home_clear();
  oap_pool *pool = open_shared(CAPACITY);
  oap_pool *larger = open_shared(2 * CAPACITY);
  CHECK(!oap_pool_origin(larger)->is_reopened);
  oap_options alone = home_options(CAPACITY);
  oap_pool *private;
  CHECK(!home_open(&alone, &private));
  CHECK(home_count(".meta") == 3);
  pool_close(private);
  pool_close(larger);
  pool_close(pool);
  CHECK(home_open(&alone, &private)); /* its own, not one that was shared */
  pool_close(private);
  oap_options wrong = work_options(CAPACITY);
  wrong.policy = "lru";
  CHECK(oap_pool_open(&wrong, &pool) == -EINVAL);
  wrong = work_options(CAPACITY);
  wrong.reopen = false;
  CHECK(oap_pool_open(&wrong, &pool) == -EINVAL);
}

/* A process leaves while others go on, only when it has no pins. */
static void leaves_alone(void) {
  home_clear();
  oap_pool *pool = open_shared(CAPACITY);
  oap_pool *other = open_shared(CAPACITY); /* of this process, and a member of its own */
  CHECK(oap_pool_members(pool) == 2);
  oap_key key = key_of(1);
  oap_chunk chunk;
  CHECK(chunk_put(pool, &key, BYTES) == 0);
  CHECK(oap_pool_pin(other, &key, &chunk) == 0);
  CHECK(oap_pool_retire(other) == -EBUSY);
  CHECK(oap_pool_unpin(other, &chunk) == 0);
  CHECK(oap_pool_pin(pool, &key, &chunk) == 0); /* of another member: no reason to stay */
  CHECK(oap_pool_retire(other) == 0);
  oap_chunk none;
  CHECK(oap_pool_pin(other, &key, &none) == -ENOENT);
  CHECK(oap_pool_reserve(other, &key, BYTES, &none) == -ESHUTDOWN);
  CHECK(chunk_is_right(&key, &chunk));
  CHECK(oap_pool_close(other) == 0);
  CHECK(oap_pool_members(pool) == 1);
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  check_pinned(pool, 1);
  pool_close(pool);
}

/* ---- Threads of two members ---- */

#define THREADS 4

static oap_pool *members[2];
static uint64_t operations;

static void *operate(void *number) {
  uint64_t t = *(const uint64_t *)number;
  work w = {.pool = members[t % 2], .most_bytes = CAPACITY / 16, .random = check_seed + t};
  for (uint64_t i = 0; i < operations; i++) {
    work_once(&w);
  }
  work_end(&w);
  return NULL;
}

static void threads_at_work(void) {
  home_clear();
  members[0] = open_shared(CAPACITY);
  members[1] = open_shared(CAPACITY);
  pthread_t threads[THREADS];
  uint64_t numbers[THREADS];
  for (uint64_t t = 0; t < THREADS; t++) {
    numbers[t] = t;
    CHECK(pthread_create(&threads[t], NULL, operate, &numbers[t]) == 0);
  }
  for (int t = 0; t < THREADS; t++) {
    CHECK(pthread_join(threads[t], NULL) == 0);
  }
  pool_close(members[1]);
  work w = {.pool = members[0]};
  work_close(&w);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  operations = check_runs(20000);
  said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(said != MAP_FAILED);
  if (check_may_fork()) {
    finds_what_others_put();
    pins_count_for_all();
    nobody_waits_for_the_stopped();
    has_a_bound();
  }
  others_do_not_join();
  leaves_alone();
  threads_at_work();
  home_clear();
  return 0;
}
