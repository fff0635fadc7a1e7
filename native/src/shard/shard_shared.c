/* Shared tables: see shard_shared.h. */
#include "shard_shared.h"

#include "arena/arena_parts.h"
#include "arena/table.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

/* Extents that are made on the way to what a chunk gets. */
enum { EXTENTS_ON_THE_WAY = 64 };

static int make_room_at(const oap_shard *shard, const void *from, uint64_t bytes) {
  uint64_t at = (uint64_t)((const char *)from - (const char *)shard->table);
  return oap_file_allocate(shard->kept.file, shard->kept.offset + at, bytes);
}

int oap_shard_make_room(oap_shard *shard, uint64_t ready, uint64_t slots) {
  uint64_t more = slots - ready;
  int error = make_room_at(shard, &shard->slots[ready + 1], more * sizeof(oap_slot));
  if (error == 0) {
    uint64_t had = oap_extents_for(ready, shard->region_count);
    uint64_t extents = oap_extents_for(slots, shard->region_count) - had;
    error = make_room_at(shard, &shard->space.extents[had], extents * sizeof(oap_extent));
  }
  for (uint32_t m = 0; error == 0 && m < OAP_MOST_MEMBERS; m++) {
    const _Atomic uint32_t *pins = &shard->holders.pins[m * shard->holders.stride + ready + 1];
    error = make_room_at(shard, pins, more * sizeof(*pins));
  }
  return error;
}

bool oap_shard_has_extents(const oap_shard *shard) {
  if (shard->commons == NULL) {
    return true;
  }
  uint32_t ready = atomic_load(shard->kept.ready);
  return ready == shard->slot_room || oap_space_extents(&shard->space) + EXTENTS_ON_THE_WAY <
                                          oap_extents_for(ready, shard->region_count);
}

/* Room for all tables that do not grow, and for what the regions need of those that do. */
static int make_first_room(oap_shard *shard, const oap_table_plan *t) {
  char *table = shard->table;
  uint64_t extents = oap_extents_for(0, t->regions);
  int error = make_room_at(shard, table + t->heads_at, t->pins_at - t->heads_at);
  if (error == 0) {
    error = make_room_at(shard, shard->slots, sizeof(oap_slot));
  }
  if (error == 0) {
    error = make_room_at(shard, shard->space.extents, extents * sizeof(oap_extent));
  }
  for (uint32_t m = 0; error == 0 && m < OAP_MOST_MEMBERS; m++) {
    error = make_room_at(shard, &shard->holders.pins[m * shard->holders.stride], sizeof(uint32_t));
  }
  return error;
}

/* Of what an earlier process has left, only slots and sketch are worth anything. */
static int begin(oap_shard *shard, const oap_shard_options *options, const oap_table_plan *t) {
  char *table = shard->table;
  uint64_t ready = oap_most(atomic_load(shard->kept.ready), OAP_SLOTS_ADDED);
  ready = oap_least(ready, shard->slot_room);
  int error = make_first_room(shard, t);
  if (error != 0) {
    return error;
  }
  memset(table + t->heads_at, 0, t->words_at - t->heads_at);
  memset(shard->commons, 0, sizeof(*shard->commons));
  memcpy((void *)shard->stripes, options->stripes, options->stripe_count * sizeof(oap_range));
  oap_add_regions(shard);
  error = oap_shard_make_room(shard, 0, ready);
  if (error != 0) {
    return error;
  }
  atomic_store(shard->kept.ready, (uint32_t)ready);
  for (uint32_t m = 0; m < OAP_MOST_MEMBERS; m++) {
    oap_forget_pins(&shard->holders, m, (uint32_t)ready);
  }
  shard->commons->region_count = shard->region_count;
  oap_shard_write_back(shard);
  return oap_shard_make_lock(shard->commons);
}

void oap_shard_tell_pins(oap_shard *shard) {
  atomic_store_explicit(&shard->commons->pinned[shard->holders.self],
                        oap_counters_sum(shard->counters), memory_order_relaxed);
}

void oap_shard_leave(oap_shard *shard) {
  while (atomic_exchange(&shard->kept.is_growing, true)) {
    sched_yield(); /* until the thread that asks the system for more has its answer */
  }
  bool is_locked =
      oap_shard_lock(shard); /* else another process has it, and no thread of this one */
  atomic_store(&shard->commons->pinned[shard->holders.self], 0);
  atomic_store(&shard->has_left, true);
  if (is_locked) {
    oap_shard_unlock(shard);
  }
  /* A pin that is about to be refused is counted first; by now the number may be another's. */
  uint64_t bytes = shard->holders.stride * sizeof(uint32_t);
  mmap((void *)oap_own_pins(&shard->holders, 0), bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

int oap_shard_open_shared(oap_shard *shard, const oap_shard_options *options) {
  oap_table_plan tables = oap_plan_tables(options);
  memset(shard, 0, sizeof(*shard));
  char *table = mmap(NULL, tables.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, options->kept_file,
                     (off_t)options->kept_offset);
  if (table == MAP_FAILED) {
    return -errno;
  }
  oap_memory_hide(table, tables.bytes);
  shard->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  shard->released = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  shard->kept = (oap_kept){
      .file = options->kept_file, .offset = options->kept_offset, .ready = options->kept_ready};
  shard->is_kept = true;
  shard->commons = (oap_commons *)(table + tables.commons_at);
  shard->holders = (oap_holders){
      .pins = (_Atomic uint32_t *)(table + tables.pins_at),
      .stride = tables.pins_stride / sizeof(uint32_t),
      .self = options->self,
      .members = options->members,
  };
  shard->rebuild = options->rebuild;
  oap_place_tables(shard, table, &tables, options);
  shard->part = options->part; /* whoever gets the lock first may have to rebuild */
  if (options->is_first) {
    return begin(shard, options, &tables);
  }
  shard->region_count = shard->commons->region_count;
  return 0;
}
