/* What happens between two steps of a process that shares a pool: another one pins what is about to
 * leave, drops what is about to be pinned, or dies while it changes the shard. */
#include "shared_work.h"
#include "slots/holders.h"
#include "slots/index.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CAPACITY (UINT64_C(1) << 18)
#define BYTES 50000

static oap_pool *first;
static oap_pool *second; /* of this process, and a member of its own */

/* ---- Between two steps ---- */

/* What happens after so many looks at pins. */
static void (*between)(void);
static int looks_before;

static void run_between(void) {
  void (*run)(void) = between;
  if (run != NULL && looks_before-- == 0) {
    between = NULL;
    run();
  }
}

bool __real_oap_is_unpinned(const oap_holders *holders, uint32_t slot, uint64_t word);
bool __wrap_oap_is_unpinned(const oap_holders *holders, uint32_t slot, uint64_t word);

/* After a look at the pins, before whatever it leads to. */
bool __wrap_oap_is_unpinned(const oap_holders *holders, uint32_t slot, uint64_t word) {
  bool is_unpinned = __real_oap_is_unpinned(holders, slot, word);
  if (oap_word_state(word) == OAP_PUBLISHED) {
    run_between();
  }
  return is_unpinned;
}

static _Thread_local void (*found)(void);

uint32_t __real_oap_index_find(const oap_index *index, const oap_hashed_key *key, uint64_t *word);
uint32_t __wrap_oap_index_find(const oap_index *index, const oap_hashed_key *key, uint64_t *word);

/* After a chunk was found. */
uint32_t __wrap_oap_index_find(const oap_index *index, const oap_hashed_key *key, uint64_t *word) {
  uint32_t number = __real_oap_index_find(index, key, word);
  void (*run)(void) = found;
  found = NULL;
  if (run != NULL) {
    run();
  }
  return number;
}

static bool dies;

void __real_oap_index_remove(oap_index *index, uint32_t number);
void __wrap_oap_index_remove(oap_index *index, uint32_t number);

/* In the middle of a change. */
void __wrap_oap_index_remove(oap_index *index, uint32_t number) {
  if (dies) {
    raise(SIGKILL);
  }
  __real_oap_index_remove(index, number);
}

/* ---- Tests ---- */

static void open_both(void) {
  home_clear();
  first = work_open(CAPACITY);
  second = work_open(CAPACITY);
  CHECK(oap_pool_members(first) == 2);
}

static void close_both(void) {
  CHECK_VALID(first);
  pool_close(second);
  pool_close(first);
}

static oap_key key_of(uint32_t k) { return key_numbered(k, 1, k); }

static oap_key the_key;
static oap_chunk the_chunk;
static bool is_pinned;

enum { MOST_LOOKS = 40 }; /* at pins, until chunks have left */

/* Counts no use, which would change the word. */
static void pin_in_second(void) {
  is_pinned = oap_pool_pin_unused(second, &the_key, &the_chunk) == 0;
}

static void put_some(oap_pool *pool, uint32_t from) {
  for (uint32_t i = from; i < from + 5; i++) {
    oap_key key = key_of(i);
    int result = chunk_put(pool, &key, BYTES);
    CHECK(result == 0 || result == -ENOSPC);
  }
}

/* Whichever chunk leaves for others, it is none that somebody has pinned by then. */
static void pinned_when_it_is_to_leave(uint32_t k, int looks) {
  open_both();
  put_some(first, 0);
  the_key = key_of(k);
  is_pinned = false;
  looks_before = looks;
  between = pin_in_second;
  put_some(first, 100);
  between = NULL;
  if (is_pinned) {
    CHECK(chunk_is_right(&the_key, &the_chunk));
    CHECK(oap_pool_unpin(second, &the_chunk) == 0);
  }
  close_both();
}

static void die_now(void) { raise(SIGKILL); }

/* Runs a function in a process of its own; whether it has died in it. */
static bool dies_in(void (*run)(void)) {
  int status;
  pid_t child = check_fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
  return WIFSIGNALED(status);
}

static void die_while_evicting(void) {
  oap_pool *pool = work_open(CAPACITY);
  between = die_now;
  put_some(pool, 100);
}

/* Dead when it has claimed a chunk, or is about to: the chunk is there, or has gone. */
static bool dead_when_it_is_to_leave(int looks) {
  open_both();
  put_some(first, 0);
  looks_before = looks;
  bool has_died = dies_in(die_while_evicting);
  put_some(first, 200);
  close_both();
  return has_died;
}

static void drop_and_fill(void) {
  CHECK(oap_pool_drop(second, &the_key) == 0);
  for (uint32_t i = 0; i < 5; i++) {
    oap_key key = key_of(200 + i);
    CHECK(chunk_put(second, &key, BYTES) == 0);
  }
}

static void gone_when_it_is_to_be_pinned(void) {
  open_both();
  the_key = key_of(1);
  CHECK(chunk_put(first, &the_key, BYTES) == 0);
  found = drop_and_fill;
  CHECK(oap_pool_pin(first, &the_key, &the_chunk) == -ENOENT);
  CHECK(found == NULL);
  close_both();
}

static void die_in_a_drop(void) {
  oap_pool *pool = work_open(CAPACITY);
  oap_key key = key_of(1);
  dies = true;
  oap_pool_drop(pool, &key);
}

/* Whoever comes next makes the shard anew, with all that the living have. */
static void another_dies_in_a_change(bool is_next_new) {
  open_both();
  oap_key keys[] = {key_of(1), key_of(2), key_of(3), key_of(4)};
  oap_chunk pinned, dropped, loading;
  CHECK(chunk_put(first, &keys[0], BYTES) == 0);
  CHECK(chunk_put(first, &keys[1], BYTES) == 0 && oap_pool_pin(first, &keys[1], &pinned) == 0);
  CHECK(chunk_put(first, &keys[2], BYTES) == 0 && oap_pool_pin(first, &keys[2], &dropped) == 0);
  CHECK(oap_pool_drop(second, &keys[2]) == 0);
  CHECK(oap_pool_reserve(second, &keys[3], BYTES, &loading) == 0);
  CHECK(dies_in(die_in_a_drop));
  oap_pool *next = is_next_new ? work_open(CAPACITY) : NULL;
  for (uint32_t i = 0; i < 20; i++) {
    oap_key key = key_of(300 + i);
    int result = chunk_put(first, &key, BYTES);
    CHECK(result == 0 || result == -ENOSPC);
  }
  chunk_fill(&keys[3], &loading);
  CHECK(oap_pool_publish(second, &loading) == 0);
  CHECK(chunk_is_right(&keys[1], &pinned) && chunk_is_right(&keys[2], &dropped));
  CHECK(chunk_is_right(&keys[3], &loading));
  CHECK(!oap_pool_is_held(first, &keys[0]) && !oap_pool_is_held(first, &keys[2]));
  CHECK(oap_pool_unpin(first, &pinned) == 0 && oap_pool_unpin(first, &dropped) == 0);
  CHECK(oap_pool_unpin(second, &loading) == 0);
  if (next != NULL) {
    pool_close(next);
  }
  close_both();
}

/* ---- What is counted as pinned ---- */

static _Atomic bool has_ended;

static void *pin_again_and_again(void *pool) {
  while (!has_ended) {
    oap_chunk chunk;
    if (oap_pool_pin(pool, &the_key, &chunk) == 0) {
      CHECK(oap_pool_unpin(pool, &chunk) == 0);
    }
  }
  return NULL;
}

static void replace(void) {
  oap_pool_drop(second, &the_key);
  int result = chunk_put(second, &the_key, 100);
  CHECK(result == 0 || result == -ENOSPC);
}

/* A thread finds a chunk, and another one has pinned what lies in its slot by then: none is counted
 * twice or never. */
static void pins_are_counted(void) {
  enum { PINNED = 3 };
  open_both();
  oap_chunk pinned[PINNED];
  for (uint32_t i = 0; i < PINNED; i++) {
    oap_key key = key_of(10 + i);
    CHECK(chunk_put(first, &key, BYTES) == 0 && oap_pool_pin(first, &key, &pinned[i]) == 0);
  }
  the_key = key_of(1);
  pthread_t thread;
  has_ended = false;
  CHECK(pthread_create(&thread, NULL, pin_again_and_again, first) == 0);
  for (uint64_t i = check_runs(20000); i > 0; i--) {
    found = replace;
    oap_chunk chunk;
    if (oap_pool_pin(first, &the_key, &chunk) == 0) {
      CHECK(oap_pool_unpin(first, &chunk) == 0);
    }
  }
  has_ended = true;
  CHECK(pthread_join(thread, NULL) == 0);
  pool_close(second);
  oap_stats stats;
  oap_pool_stats(first, &stats);
  CHECK(stats.pinned_chunks == PINNED);
  CHECK(stats.pinned_bytes >= PINNED * BYTES && stats.pinned_bytes < (PINNED + 1) * BYTES);
  for (int i = 0; i < PINNED; i++) {
    CHECK(oap_pool_unpin(first, &pinned[i]) == 0);
  }
  CHECK_VALID(first);
  pool_close(first);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  int deaths = 0;
  for (int looks = 0; looks < MOST_LOOKS; looks++) {
    for (uint32_t k = 0; k < 5; k++) {
      pinned_when_it_is_to_leave(k, looks);
    }
    deaths += check_may_fork() && dead_when_it_is_to_leave(looks);
  }
  gone_when_it_is_to_be_pinned();
  pins_are_counted();
  if (check_may_fork()) {
    CHECK(deaths > 5);
    another_dies_in_a_change(false);
    another_dies_in_a_change(true);
  }
  home_clear();
  return 0;
}
