/* A shard's life, its tables and its figures: see shard.h. */
#include "shard.h"

#include "arena_parts.h"
#include "table.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* One slot per so many bytes of capacity. Chunks that are smaller on average run out of slots
 * before they run out of bytes. */
#define BYTES_PER_SLOT 4096
#define LEAST_SLOTS 256
#define MOST_SLOTS (UINT32_C(1) << 30) /* extents, two and a half for each, are numbered, too */
#define SLOTS_PER_HEAD 4
#define SLOTS_PER_FILE_HEAD 32
#define SLOTS_PER_SKETCH_WORD 8

static uint64_t power_of_two_at_least(uint64_t x) {
  uint64_t p = 1;
  while (p < x) {
    p <<= 1;
  }
  return p;
}

uint32_t oap_shard_slots_for(uint64_t capacity) {
  return (uint32_t)oap_most(LEAST_SLOTS, oap_least(MOST_SLOTS, capacity / BYTES_PER_SLOT));
}

/* Adds a stripe's regions, which end where windows do. */
static void add_regions(oap_shard *shard, oap_range stripe) {
  for (uint64_t at = stripe.position, end = at + stripe.bytes; at < end;) {
    uint64_t window_end = (at / OAP_WINDOW_BYTES + 1) * OAP_WINDOW_BYTES;
    uint64_t length = oap_least(window_end, end) - at;
    shard->regions[shard->region_count++] = oap_space_add_region(&shard->space, at, length);
    at += length;
  }
}

/* How many entries each table of a shard has, and where it starts in the one mapping of them all.
 */
typedef struct {
  uint64_t slots, extents, heads, file_heads, words, regions;
  uint64_t extents_at, heads_at, files_at, words_at, ring_at, regions_at, stripes_at;
  uint64_t slots_end, words_end; /* of what is kept in a file, in whole pages */
  uint64_t bytes;
} table_plan;

/* Slots and extents fill up from the bottom, so that room for the most costs nothing. The others
 * are touched all over, so they are made for what is used commonly. */
static table_plan plan_tables(uint64_t commonly, uint64_t most, uint32_t most_slots,
                              uint32_t stripes) {
  table_plan t;
  t.slots = oap_least(oap_shard_slots_for(most), most_slots);
  t.regions = most / OAP_WINDOW_BYTES + 2 * (uint64_t)stripes;
  t.extents = t.slots + t.slots / 2 * 3 + 3 * t.regions + OAP_MAX_PIECES;
  uint64_t slots = oap_least(oap_shard_slots_for(commonly), most_slots);
  t.heads = power_of_two_at_least(slots / SLOTS_PER_HEAD);
  t.file_heads = power_of_two_at_least(slots / SLOTS_PER_FILE_HEAD);
  t.words = power_of_two_at_least(
      oap_least(oap_shard_slots_for(commonly) / SLOTS_PER_SKETCH_WORD, 4 * (uint64_t)most_slots));

  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  t.slots_end = oap_round_up((t.slots + 1) * sizeof(oap_slot), page);
  t.extents_at = t.slots_end;
  t.heads_at = oap_round_up(t.extents_at + t.extents * sizeof(oap_extent), 4096);
  t.files_at = oap_round_up(t.heads_at + t.heads * sizeof(uint32_t), 4096);
  t.words_at = oap_round_up(t.files_at + t.file_heads * sizeof(uint32_t), page);
  t.words_end = oap_round_up(t.words_at + t.words * sizeof(uint64_t), page);
  t.ring_at = t.words_end;
  t.regions_at = oap_round_up(t.ring_at + OAP_RING * sizeof(uint32_t), 4096);
  t.stripes_at = oap_round_up(t.regions_at + t.regions * sizeof(uint32_t), 4096);
  t.bytes = oap_round_up(t.stripes_at + stripes * sizeof(oap_range), 4096);
  return t;
}

static void place_tables(oap_shard *shard, char *table, const table_plan *t) {
  shard->table = table;
  shard->table_bytes = t->bytes;
  shard->slots = (oap_slot *)table;
  shard->slot_room = (uint32_t)t->slots;
  shard->regions = (uint32_t *)(table + t->regions_at);
  shard->stripes = (oap_range *)(table + t->stripes_at);
  shard->index = (oap_index){
      .slots = shard->slots,
      .heads = (_Atomic uint32_t *)(table + t->heads_at),
      .file_heads = (uint32_t *)(table + t->files_at),
      .mask = (uint32_t)(t->heads - 1),
      .file_mask = (uint32_t)(t->file_heads - 1),
  };
  shard->order = (oap_order){
      .slots = shard->slots,
      .sketch = {.words = (uint64_t *)(table + t->words_at), .mask = (uint32_t)(t->words - 1)},
      .ring = (_Atomic uint32_t *)(table + t->ring_at),
  };
  oap_space_init(&shard->space, (oap_extent *)(table + t->extents_at), (uint32_t)t->extents);
}

/* Slots and extents are huge from some on, the tables in between if they fill a huge page at all:
 * then at most a small part of them is memory that is not needed. */
static void use_huge_tables(char *table, const table_plan *t) {
  const uint64_t small = UINT64_C(4) << 20;
  if (t->extents_at > small) {
    oap_table_use_huge(table + small, t->extents_at - small);
  }
  if (t->heads_at - t->extents_at > small) {
    oap_table_use_huge(table + t->extents_at + small, t->heads_at - t->extents_at - small);
  }
  oap_table_use_huge(table + t->heads_at, t->ring_at - t->heads_at);
}

static table_plan plan_of(const oap_shard_options *options) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < options->stripe_count; i++) {
    most += options->stripes[i].bytes;
  }
  return plan_tables(options->part * options->stripe_count, most, options->most_slots,
                     options->stripe_count);
}

uint64_t oap_shard_kept_bytes(const oap_shard_options *options) {
  table_plan tables = plan_of(options);
  return tables.slots_end + tables.words_end - tables.words_at;
}

uint64_t oap_shard_sketch_bytes(const oap_shard_options *options) {
  table_plan tables = plan_of(options);
  return tables.words_end - tables.words_at;
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

/* How many slots the file gets room for at a time; and after a refusal, when it is asked for again:
 * reservations must not search a full disk each time. */
enum { SLOTS_ADDED = 16384, RETRY_MS = 1000 };

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
  uint64_t ready = oap_most(atomic_load(options->kept_ready), SLOTS_ADDED);
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
  pthread_mutex_lock(&shard->lock);
  int error = map_kept(shard, MAP_PRIVATE | MAP_NORESERVE);
  pthread_mutex_unlock(&shard->lock);
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
  return ready < shard->slot_limit && shard->slot_top + SLOTS_ADDED / 2 > ready;
}

static uint64_t milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void add_slots(oap_shard *shard) {
  uint32_t ready = atomic_load(shard->kept.ready);
  uint32_t more = (uint32_t)oap_least(SLOTS_ADDED, shard->slot_room - ready);
  uint64_t start = shard->kept.offset + ((uint64_t)ready + 1) * sizeof(oap_slot);
  if (oap_file_allocate(shard->kept.file, start, (uint64_t)more * sizeof(oap_slot)) == 0) {
    atomic_store(shard->kept.ready, ready + more);
  } else {
    shard->kept.next_try = milliseconds() + RETRY_MS;
  }
}

void oap_shard_add_slots(oap_shard *shard) {
  if (atomic_exchange(&shard->kept.is_growing, true)) {
    return;
  }
  if (shard->kept.next_try <= milliseconds()) {
    add_slots(shard);
  }
  atomic_store(&shard->kept.is_growing, false);
}

int oap_shard_open(oap_shard *shard, const oap_shard_options *options) {
  uint32_t count = options->stripe_count;
  table_plan tables = plan_of(options);
  memset(shard, 0, sizeof(*shard));
  char *table = oap_table_map(tables.bytes);
  if (table == NULL) {
    return -errno;
  }
  place_tables(shard, table, &tables);
  use_huge_tables(table, &tables);
  memcpy(table + tables.stripes_at, options->stripes, count * sizeof(*options->stripes));
  shard->number = options->number;
  shard->stripe_count = count;
  shard->arenas = options->arenas;
  shard->windows = options->windows;
  shard->order.policy = options->policy;
  for (uint32_t i = 0; i < count; i++) {
    add_regions(shard, options->stripes[i]);
  }
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

void oap_shard_set_retired(oap_shard *shard, bool retired) {
  pthread_mutex_lock(&shard->lock);
  shard->retired = retired;
  pthread_mutex_unlock(&shard->lock);
}

bool oap_shard_is_busy(oap_shard *shard) {
  pthread_mutex_lock(&shard->lock);
  bool busy = shard->releasing > 0;
  for (uint32_t i = 1; i <= shard->slot_top && !busy; i++) {
    /* Acquire: what was read under a pin that has gone was read before what follows here. */
    uint64_t word = atomic_load_explicit(&shard->slots[i].word, memory_order_acquire);
    enum oap_state state = oap_word_state(word);
    /* A dropped chunk is so until its room is given back, which comes after its last pin. */
    busy = state != OAP_FREE && (state != OAP_PUBLISHED || oap_word_pins(word) > 0);
  }
  pthread_mutex_unlock(&shard->lock);
  return busy;
}

uint64_t oap_shard_list(oap_shard *shard, oap_held *out, uint64_t room, uint64_t count) {
  bool more = true;
  for (uint32_t i = 1; more;) {
    pthread_mutex_lock(&shard->lock);
    for (uint32_t end = i + OAP_SLOTS_AT_ONCE; i < end && i <= shard->slot_top; i++) {
      const oap_slot *slot = &shard->slots[i];
      uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
      if (oap_word_state(word) != OAP_PUBLISHED) {
        continue;
      }
      if (count < room) {
        oap_hashed_key held = oap_slot_key(slot);
        out[count] = (oap_held){
            .key = oap_plain_key(held.words),
            .bytes = slot->bytes,
            .asks = oap_sketch_count(&shard->order.sketch, held.hash) + oap_uses(slot),
        };
      }
      count++;
    }
    more = i <= shard->slot_top;
    pthread_mutex_unlock(&shard->lock);
  }
  return count;
}

void oap_shard_stats(oap_shard *shard, oap_stats *sum) {
  oap_counters_add(shard->counters, sum);
  pthread_mutex_lock(&shard->lock);
  const uint64_t *counted = (const uint64_t *)&shard->counted;
  for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++) {
    ((uint64_t *)sum)[i] += counted[i];
  }
  sum->capacity_bytes += shard->capacity;
  sum->used_bytes += oap_space_used(&shard->space) * OAP_ALIGNMENT;
  uint64_t slots = (shard->slot_top + 1) * sizeof(oap_slot);
  uint64_t extents = (shard->space.top + 1) * sizeof(oap_extent);
  pthread_mutex_unlock(&shard->lock);
  char *end = (char *)shard->table + shard->table_bytes;
  char *heads = (char *)shard->index.heads;
  sum->metadata_bytes += sizeof(*shard) + oap_table_resident(shard->slots, slots) +
                         oap_table_resident(shard->space.extents, extents) +
                         oap_table_resident(heads, (uint64_t)(end - heads));
}
