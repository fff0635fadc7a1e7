/* A shard's life: its tables, its figures, its inner check. What it does stands in chunk.c. */
#include "shard.h"

#include "arena.h"

#include <errno.h>
#include <string.h>

/* One slot per so many bytes of capacity. Chunks that are smaller on average run out of slots
 * before they run out of bytes. */
#define BYTES_PER_SLOT 4096
#define LEAST_SLOTS 256
#define MOST_SLOTS (UINT32_C(1) << 30) /* extents, two and a half for each, are numbered, too */
#define SLOTS_PER_HEAD 4
#define SLOTS_PER_FILE_HEAD 32
#define SLOTS_PER_SKETCH_WORD 8

static uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t power_of_two_at_least(uint64_t x) {
  uint64_t p = 1;
  while (p < x) {
    p <<= 1;
  }
  return p;
}

uint32_t oap_shard_slots_for(uint64_t capacity) {
  uint64_t slots = capacity / BYTES_PER_SLOT;
  return slots < LEAST_SLOTS ? LEAST_SLOTS : slots > MOST_SLOTS ? MOST_SLOTS : (uint32_t)slots;
}

/* Regions: a range cut at the windows' ends. */
static void add_regions(oap_shard *shard, oap_range range) {
  for (uint64_t at = range.position, end = at + range.bytes; at < end;) {
    uint64_t window_end = (at / OAP_WINDOW_BYTES + 1) * OAP_WINDOW_BYTES;
    uint64_t length = (window_end < end ? window_end : end) - at;
    shard->regions[shard->region_count++] = oap_space_add_region(&shard->space, at, length);
    at += length;
  }
}

/* How many entries each table of a shard has, and where it starts in the one mapping of them all.
 */
typedef struct {
  uint64_t slots, extents, heads, file_heads, words, regions;
  uint64_t extents_at, heads_at, files_at, words_at, ring_at, regions_at, ranges_at;
  uint64_t bytes;
} table_plan;

/* Slots and extents fill up from the bottom, so that room for the most costs nothing. The others
 * are touched all over, so they are made for what is used commonly. */
static table_plan plan_tables(uint64_t commonly, uint64_t most, uint32_t most_slots,
                              uint32_t ranges) {
  table_plan t;
  t.slots = least(oap_shard_slots_for(most), most_slots);
  t.regions = most / OAP_WINDOW_BYTES + 2 * (uint64_t)ranges;
  t.extents = t.slots + t.slots / 2 * 3 + 3 * t.regions + OAP_MAX_PIECES;
  uint64_t slots = least(oap_shard_slots_for(commonly), most_slots);
  t.heads = power_of_two_at_least(slots / SLOTS_PER_HEAD);
  t.file_heads = power_of_two_at_least(slots / SLOTS_PER_FILE_HEAD);
  t.words = power_of_two_at_least(
      least(oap_shard_slots_for(commonly) / SLOTS_PER_SKETCH_WORD, 4 * (uint64_t)most_slots));

  t.extents_at = round_up((t.slots + 1) * sizeof(oap_slot), 4096);
  t.heads_at = round_up(t.extents_at + t.extents * sizeof(oap_extent), 4096);
  t.files_at = round_up(t.heads_at + t.heads * sizeof(uint32_t), 4096);
  t.words_at = round_up(t.files_at + t.file_heads * sizeof(uint32_t), 4096);
  t.ring_at = t.words_at + t.words * sizeof(uint64_t);
  t.regions_at = round_up(t.ring_at + OAP_RING * sizeof(uint32_t), 4096);
  t.ranges_at = round_up(t.regions_at + t.regions * sizeof(uint32_t), 4096);
  t.bytes = round_up(t.ranges_at + ranges * sizeof(oap_range), 4096);
  return t;
}

static void place_tables(oap_shard *shard, char *table, const table_plan *t) {
  shard->table = table;
  shard->table_bytes = t->bytes;
  shard->slots = (oap_slot *)table;
  shard->slot_room = (uint32_t)t->slots;
  shard->regions = (uint32_t *)(table + t->regions_at);
  shard->ranges = (oap_range *)(table + t->ranges_at);
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

int oap_shard_open(oap_shard *shard, uint32_t number, const oap_range *ranges, uint32_t count,
                   uint64_t part, uint32_t most_slots, const struct oap_arena *arenas,
                   const oap_policy *policy, unsigned char *const *windows) {
  memset(shard, 0, sizeof(*shard));
  uint64_t most = 0;
  for (uint32_t i = 0; i < count; i++) {
    most += ranges[i].bytes;
  }
  table_plan tables = plan_tables(part * count, most, most_slots, count);
  char *table = oap_table_map(tables.bytes);
  if (table == NULL) {
    return -errno;
  }
  place_tables(shard, table, &tables);
  use_huge_tables(table, &tables);
  memcpy(table + tables.ranges_at, ranges, count * sizeof(*ranges));
  shard->number = number;
  shard->range_count = count;
  shard->arenas = arenas;
  shard->windows = windows;
  shard->order.policy = policy;
  for (uint32_t i = 0; i < count; i++) {
    add_regions(shard, ranges[i]);
  }
  shard->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  shard->released = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  return 0;
}

void oap_shard_close(oap_shard *shard) {
  if (shard->table != NULL) {
    pthread_cond_destroy(&shard->released);
    pthread_mutex_destroy(&shard->lock);
    oap_table_unmap(shard->table, shard->table_bytes);
    shard->table = NULL;
  }
}

unsigned oap_thread_stripe(void) {
  static _Atomic unsigned next;
  static _Thread_local unsigned mine; /* 0: not given out yet */
  if (mine == 0) {
    mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % OAP_STRIPES + 1;
  }
  return mine - 1;
}

oap_stripe *oap_shard_stripe(oap_shard *shard) { return &shard->stripes[oap_thread_stripe()]; }

uint64_t oap_shard_pinned(oap_shard *shard, uint64_t *bytes) {
  uint64_t pinned = 0;
  for (int i = 0; i < OAP_STRIPES; i++) {
    pinned += atomic_load_explicit(&shard->stripes[i].pinned, memory_order_relaxed);
  }
  /* Pinned in one stripe after that was read and unpinned in another before: less than nothing. */
  int64_t chunks = (int64_t)(pinned << (64 - OAP_PINNED_SHIFT)) >> (64 - OAP_PINNED_SHIFT);
  int64_t units = (int64_t)(pinned - (uint64_t)chunks) >> OAP_PINNED_SHIFT;
  *bytes = units > 0 ? (uint64_t)units * OAP_ALIGNMENT : 0;
  return chunks > 0 ? (uint64_t)chunks : 0;
}

uint64_t oap_shard_content_version(oap_shard *shard) {
  uint64_t changes = 0;
  for (int i = 0; i < OAP_STRIPES; i++) {
    changes += atomic_load_explicit(&shard->stripes[i].changes, memory_order_acquire);
  }
  return changes;
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
        uint64_t key[4];
        for (int k = 0; k < 4; k++) {
          key[k] = atomic_load_explicit(&slot->key[k], memory_order_relaxed);
        }
        out[count] = (oap_held){
            .key = {key[0], key[1], (uint32_t)(key[2] >> 32), (uint32_t)key[2], key[3]},
            .bytes = slot->bytes,
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
  for (int i = 0; i < OAP_STRIPES; i++) {
    const oap_stripe *stripe = &shard->stripes[i];
    sum->hits += atomic_load_explicit(&stripe->hits, memory_order_relaxed);
    sum->misses += atomic_load_explicit(&stripe->misses, memory_order_relaxed);
    sum->publishes += atomic_load_explicit(&stripe->publishes, memory_order_relaxed);
    sum->chunks += atomic_load_explicit(&stripe->chunks, memory_order_relaxed);
  }
  uint64_t pinned_bytes;
  sum->pinned_chunks += oap_shard_pinned(shard, &pinned_bytes);
  sum->pinned_bytes += pinned_bytes;
  pthread_mutex_lock(&shard->lock);
  const oap_stats *counted = &shard->counted;
  sum->capacity_bytes += shard->capacity;
  sum->used_bytes += oap_space_used(&shard->space) * OAP_ALIGNMENT;
  sum->abandons += counted->abandons;
  sum->evictions += counted->evictions;
  sum->evicted_bytes += counted->evicted_bytes;
  sum->drops += counted->drops;
  sum->refused_present += counted->refused_present;
  sum->refused_loading += counted->refused_loading;
  sum->refused_no_room += counted->refused_no_room;
  sum->refused_too_large += counted->refused_too_large;
  uint64_t slots = (shard->slot_top + 1) * sizeof(oap_slot);
  uint64_t extents = (shard->space.top + 1) * sizeof(oap_extent);
  pthread_mutex_unlock(&shard->lock);
  char *end = (char *)shard->table + shard->table_bytes;
  char *heads = (char *)shard->index.heads;
  sum->metadata_bytes += sizeof(*shard) + oap_table_resident(shard->slots, slots) +
                         oap_table_resident(shard->space.extents, extents) +
                         oap_table_resident(heads, (uint64_t)(end - heads));
}

static const char *validate_slot(oap_shard *shard, uint32_t number, uint64_t *used_units) {
  const oap_slot *slot = &shard->slots[number];
  if (oap_slot_checksum(slot) != slot->checksum) {
    return "shard: slot changed since it was reserved";
  }
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    const oap_extent *extent = &shard->space.extents[slot->extent[i]];
    if (extent->owner != number || extent->position != piece.position ||
        piece.bytes > (uint64_t)extent->units * OAP_ALIGNMENT) {
      return "shard: slot and extent disagree";
    }
    bytes += piece.bytes;
    *used_units += extent->units;
  }
  return bytes == slot->bytes ? NULL : "shard: pieces do not add up to the chunk";
}

static const char *validate_slots(oap_shard *shard, uint32_t visible) {
  uint64_t used_units = 0;
  uint64_t published = 0;
  uint32_t linked = 0;
  uint32_t free = 0;
  uint64_t pinned = 0;
  for (uint32_t i = 1; i <= shard->slot_top; i++) {
    uint64_t word = shard->slots[i].word;
    enum oap_state state = oap_word_state(word);
    if (state == OAP_FREE) {
      free++;
      continue;
    }
    published += state == OAP_PUBLISHED;
    linked += state == OAP_PUBLISHED || state == OAP_LOADING;
    pinned += state == OAP_LOADING || state == OAP_DOOMED || oap_word_pins(word) > 0;
    const char *fault = validate_slot(shard, i, &used_units);
    if (fault != NULL) {
      return fault;
    }
  }
  for (uint32_t i = shard->slot_free; i != 0; i = shard->slots[i].queue_next) {
    if (i > shard->slot_top || free-- == 0) {
      return "shard: chain of free slots broken";
    }
  }
  oap_stats sum = {0};
  for (int i = 0; i < OAP_STRIPES; i++) {
    sum.chunks += shard->stripes[i].chunks;
  }
  if (free != 0 || linked != visible) {
    return "shard: slots lost";
  }
  if (used_units != oap_space_used(&shard->space)) {
    return "shard: space lost";
  }
  uint64_t pinned_bytes;
  bool right = published == sum.chunks && pinned == oap_shard_pinned(shard, &pinned_bytes);
  return right ? NULL : "shard: chunks miscounted";
}

const char *oap_shard_validate(oap_shard *shard) {
  pthread_mutex_lock(&shard->lock);
  uint32_t indexed = 0;
  uint32_t queued = 0;
  const char *fault = oap_space_validate(&shard->space);
  if (fault == NULL) {
    fault = oap_shard_validate_limits(shard);
  }
  if (fault == NULL) {
    fault = oap_index_validate(&shard->index, shard->slot_top, &indexed);
  }
  if (fault == NULL) {
    fault = oap_order_validate(&shard->order, shard->slot_top, &queued);
  }
  if (fault == NULL && indexed != queued) {
    fault = "shard: index and policy disagree";
  }
  if (fault == NULL) {
    fault = validate_slots(shard, indexed);
  }
  pthread_mutex_unlock(&shard->lock);
  return fault;
}
