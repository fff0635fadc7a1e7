/* What is done while a lock is held that others wait for is bounded, and no call to the system.
 * Counted, not timed. */
#include "check.h"
#include "model/event_queue.h"
#include "model/miniature.h"
#include "oap_capacity_model.h"
#include "pool/pool.h"
#include "under_lock.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK UINT64_C(4096)
#define MIB (UINT64_C(1) << 20)

/* Whatever walks all CHUNKS, or takes in all that waits, goes beyond. */
enum { CHUNKS = 16384, MOST_REMOVALS = 1024, MOST_EVENTS = 256 };

void __real_oap_index_remove(oap_index *index, uint32_t slot);
void __wrap_oap_index_remove(oap_index *index, uint32_t slot);
bool __real_oap_event_queue_read(oap_event_queue *queue, oap_event *event);
bool __wrap_oap_event_queue_read(oap_event_queue *queue, oap_event *event);
int __real_oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                                   bool (*is_wanted)(uint64_t, uint32_t), uint32_t argument,
                                   oap_miniature **out);
int __wrap_oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                                   bool (*is_wanted)(uint64_t, uint32_t), uint32_t argument,
                                   oap_miniature **out);

void __wrap_oap_index_remove(oap_index *index, uint32_t slot) {
  under_lock_count(REMOVALS);
  __real_oap_index_remove(index, slot);
}

bool __wrap_oap_event_queue_read(oap_event_queue *queue, oap_event *event) {
  bool is_read = __real_oap_event_queue_read(queue, event);
  if (is_read) {
    under_lock_count(EVENTS);
  }
  return is_read;
}

int __wrap_oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                                   bool (*is_wanted)(uint64_t, uint32_t), uint32_t argument,
                                   oap_miniature **out) {
  under_lock_count(COPIES);
  return __real_oap_miniature_open_from(options, other, is_wanted, argument, out);
}

/* ---- Chunks that are dropped ---- */

static void drops_are_batched(void) {
  for (int clears = 0; clears < 2; clears++) {
    oap_pool *pool = pool_open(CHUNKS * CHUNK, 1);
    for (uint32_t i = 0; i < CHUNKS; i++) {
      oap_key key = key_numbered(i % 4 == 0 ? i : 0, i, 0);
      CHECK(chunk_put(pool, &key, 64) == 0);
    }
    under_lock_reset();
    oap_key key = key_numbered(0, 0, 0);
    uint64_t dropped =
        clears ? oap_pool_clear(pool) : oap_pool_drop_file(pool, key.file_high, key.file_low);
    CHECK(dropped == (clears ? CHUNKS : CHUNKS / 4 * 3 + 1));
    CHECK(under_lock_most(REMOVALS) > 0 && under_lock_most(REMOVALS) <= MOST_REMOVALS);
    pool_close(pool);
  }
}

/* ---- Memory that goes back to the system ---- */

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __real_fallocate(int file, int mode, off_t start, off_t bytes);
int __wrap_fallocate(int file, int mode, off_t start, off_t bytes);

static oap_pool *watched;
static unsigned releases;
static bool grows; /* while it is given back */
static pthread_t grower;

static void *grow(void *pool) {
  CHECK(oap_pool_resize(pool, 64 * MIB) == 0);
  return NULL;
}

static void in_release(void) {
  if (watched == NULL) {
    return;
  }
  oap_shard *shard = &watched->shards[0];
  releases++;
  CHECK(pthread_mutex_trylock(&shard->lock) == 0);
  CHECK(__real_pthread_mutex_unlock(&shard->lock) == 0);
  CHECK(!grows || oap_pool_retire(watched) == -EBUSY);
  bool is_resizing = !grows;
  if (grows) {
    oap_pool *pool = watched;
    watched = NULL;
    CHECK(pthread_create(&grower, NULL, grow, pool) == 0);
  }
  while (!is_resizing) {
    pthread_mutex_lock(&shard->lock);
    is_resizing = shard->is_resizing;
    pthread_mutex_unlock(&shard->lock);
  }
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
  in_release();
  return __real_madvise(at, bytes, advice);
}

int __wrap_fallocate(int file, int mode, off_t start, off_t bytes) {
  in_release();
  return __real_fallocate(file, mode, start, bytes);
}

/* A pool that has shrunk below a chunk that is pinned, or about to be loaded. */
static oap_pool *open_shrunk(enum oap_medium medium, bool is_loading, oap_chunk *chunk) {
  const char *shm = "/dev/shm";
  oap_options options = {.capacity = 64 * MIB, .medium = medium, .shards = 1};
  if (medium == OAP_FILE) {
    options.paths = &shm;
    options.path_count = 1;
  }
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  oap_key key = key_numbered(1, 0, 0);
  CHECK(oap_pool_reserve(pool, &key, 32 * MIB, chunk) == 0);
  CHECK(is_loading || oap_pool_publish(pool, chunk) == 0);
  CHECK(oap_pool_resize(pool, 16 * MIB) == 0);
  watched = pool;
  releases = 0;
  return pool;
}

static void system_calls_are_made_without_the_lock(enum oap_medium medium, bool is_loading) {
  oap_chunk chunk;
  oap_pool *pool = open_shrunk(medium, is_loading, &chunk);
  CHECK((is_loading ? oap_pool_abandon : oap_pool_unpin)(pool, &chunk) == 0);
  CHECK(releases > 0);
  watched = NULL;
  pool_close(pool);
}

/* The pool gets its disk space back after it was given up, not before. */
static void growth_waits_for_them(void) {
  oap_chunk chunk;
  oap_pool *pool = open_shrunk(OAP_FILE, false, &chunk);
  grows = true;
  CHECK(oap_pool_unpin(pool, &chunk) == 0);
  grows = false;
  CHECK(pthread_join(grower, NULL) == 0);
  struct stat file;
  CHECK(fstat(pool->arenas[0].file, &file) == 0);
  CHECK((uint64_t)file.st_blocks * 512 >= 64 * MIB);
  pool_close(pool);
}

/* ---- The capacity model's thread, of low priority ---- */

/* More chunks than the miniatures know of, so that these are made anew. */
static void batches_are_short(void) {
  enum { ASKS = OAP_ASKS_WAITING / 2, ROUNDS = 3000 };
  oap_capacity_model *model;
  under_lock_reset();
  CHECK(oap_capacity_model_open(NULL, UINT64_C(1) << 30, &model) == 0);
  for (uint32_t round = 0; under_lock_all(EVENTS) < 4 * ASKS || under_lock_most(COPIES) == 0;
       round++) {
    CHECK(round < ROUNDS);
    for (uint32_t i = 0; i < ASKS; i++) {
      oap_column_chunk chunk = {.file_low = round, .row_group = i};
      oap_capacity_model_ask(model, &chunk, CHUNK, CHUNK, false, OAP_ADMIT);
    }
    usleep(20000); /* until the thread has come so far */
  }
  oap_capacity_model_stop(model);
  CHECK(under_lock_most(EVENTS) <= MOST_EVENTS);
  CHECK(under_lock_most(COPIES) == 1);
  oap_capacity_estimates e;
  oap_capacity_model_estimate(model, &e);
  CHECK(e.sampled_one_in > 1);
  CHECK_NO_FAULT(oap_capacity_model_validate(model));
  oap_capacity_model_close(model);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  drops_are_batched();
  for (int is_loading = 0; is_loading < 2; is_loading++) {
    system_calls_are_made_without_the_lock(OAP_DRAM, is_loading == 1);
    system_calls_are_made_without_the_lock(OAP_FILE, is_loading == 1);
  }
  growth_waits_for_them();
  batches_are_short();
  return 0;
}
