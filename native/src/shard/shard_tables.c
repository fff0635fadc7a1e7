/* A shard's tables, in memory or in a file: see shard.h. */
#include "shard_shared.h"

#include "arena/arena_parts.h"
#include "arena/table.h"
#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Slots and extents are huge from some on, the tables in between if they fill a huge page at all:
 * then at most a small part of them is memory that is not needed. */
static void use_huge_tables(char *table, const oap_table_plan *t) {
  const uint64_t small = UINT64_C(4) << 20;
  if (t->extents_at > small) {
    oap_table_use_huge(table + small, t->extents_at - small);
  }
  if (t->heads_at - t->extents_at > small) {
    oap_table_use_huge(table + t->extents_at + small, t->heads_at - t->extents_at - small);
  }
  oap_table_use_huge(table + t->heads_at, t->ring_at - t->heads_at);
}

static uint64_t in_pages(uint64_t bytes) {
  return oap_round_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
}

static uint64_t kept_slot_bytes(const oap_shard *shard) {
  return in_pages(((uint64_t)shard->slot_room + 1) * sizeof(oap_slot));
}

static uint64_t kept_word_bytes(const oap_shard *shard) {
  return in_pages(((uint64_t)shard->order.sketch.mask + 1) * sizeof(uint64_t));
}

/* After a refusal, when the file is asked for more room again: reservations must not search a full
 * disk each time. */
enum { RETRY_MS = 1000 };

/* Maps what is kept over the shard's slots and sketch. */
static int map_kept(const oap_shard *shard, int flags) {
  const oap_kept *kept = &shard->kept;
  uint64_t slots = kept_slot_bytes(shard);
  int protection = PROT_READ | PROT_WRITE;
  if (mmap(shard->slots, slots, protection, flags | MAP_FIXED, kept->file, (off_t)kept->offset) ==
          MAP_FAILED ||
      mmap(shard->order.sketch.words, kept_word_bytes(shard), protection, flags | MAP_FIXED,
           kept->file, (off_t)(kept->offset + slots)) == MAP_FAILED) {
    return -errno;
  }
  return 0;
}

/* Whatever the file says that it has room for gets it anew: it may have been cut, or a failure of
 * power may have taken it. */
static int keep(oap_shard *shard, const oap_shard_options *options) {
  shard->kept = (oap_kept){
      .file = options->kept_file, .offset = options->kept_offset, .ready = options->kept_ready};
  uint64_t ready = oap_most(atomic_load(options->kept_ready), OAP_SLOTS_ADDED);
  ready = oap_least(ready, shard->slot_room);
  int error = oap_file_allocate(shard->kept.file, shard->kept.offset + kept_slot_bytes(shard),
                                kept_word_bytes(shard));
  if (error == 0) {
    error = oap_file_allocate(shard->kept.file, shard->kept.offset, (ready + 1) * sizeof(oap_slot));
  }
  if (error == 0) {
    error = map_kept(shard, MAP_SHARED);
  }
  if (error == 0) {
    atomic_store(options->kept_ready, (uint32_t)ready);
    shard->is_kept = true;
  }
  return error;
}

int oap_shard_leave_file(oap_shard *shard) {
  if (shard->kept.is_left) {
    return 0; /* what the file says is old by now */
  }
  /* A trial, since a mapping that is refused may have taken away what was there. */
  uint64_t bytes = kept_slot_bytes(shard);
  void *trial = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                     shard->kept.file, (off_t)shard->kept.offset);
  if (trial == MAP_FAILED) {
    return -errno;
  }
  munmap(trial, bytes);
  shard->kept.is_left = true;
  oap_shard_lock(shard);
  int error = map_kept(shard, MAP_PRIVATE | MAP_NORESERVE);
  oap_shard_unlock(shard);
  while (atomic_exchange(&shard->kept.is_growing, true)) {
    sched_yield(); /* until the thread that asks the system for more has its answer */
  }
  return error;
}

bool oap_shard_is_short_of_slots(const oap_shard *shard) {
  if (shard->kept.ready == NULL) {
    return false;
  }
  uint32_t ready = atomic_load(shard->kept.ready);
  bool is_short = shard->slot_top + OAP_SLOTS_ADDED / 2 > ready || !oap_shard_has_extents(shard);
  return ready < shard->slot_limit && is_short;
}

static void add_slots(oap_shard *shard) {
  uint32_t ready = atomic_load(shard->kept.ready);
  uint32_t more = ready + (uint32_t)oap_least(OAP_SLOTS_ADDED, shard->slot_room - ready);
  uint64_t start = shard->kept.offset + ((uint64_t)ready + 1) * sizeof(oap_slot);
  int error = shard->commons != NULL
                  ? oap_shard_make_room(shard, ready, more)
                  : oap_file_allocate(shard->kept.file, start, (more - ready) * sizeof(oap_slot));
  if (error != 0) {
    shard->kept.next_try = oap_milliseconds() + RETRY_MS;
  }
  /* Another process may have got ahead meanwhile. */
  while (error == 0 && ready < more &&
         !atomic_compare_exchange_weak(shard->kept.ready, &ready, more)) {
  }
}

void oap_shard_add_slots(oap_shard *shard) {
  if (atomic_exchange(&shard->kept.is_growing, true)) {
    return;
  }
  if (shard->kept.next_try <= oap_milliseconds()) {
    add_slots(shard);
  }
  atomic_store(&shard->kept.is_growing, false);
}

int oap_shard_open(oap_shard *shard, const oap_shard_options *options) {
  if (options->members != NULL) {
    return oap_shard_open_shared(shard, options);
  }
  oap_table_plan tables = oap_plan_tables(options);
  memset(shard, 0, sizeof(*shard));
  char *table = oap_table_map(tables.bytes);
  if (table == NULL) {
    return -errno;
  }
  oap_place_tables(shard, table, &tables, options);
  memcpy((void *)shard->stripes, options->stripes, options->stripe_count * sizeof(oap_range));
  use_huge_tables(table, &tables);
  oap_add_regions(shard);
  shard->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  shard->released = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  return options->kept_ready == NULL ? 0 : keep(shard, options);
}

void oap_shard_close(oap_shard *shard) {
  if (shard->table != NULL) {
    pthread_cond_destroy(&shard->released);
    pthread_mutex_destroy(&shard->lock);
    oap_table_unmap(shard->table, shard->table_bytes);
    shard->table = NULL;
  }
}
