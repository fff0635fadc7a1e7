/* Where the tables of a shard lie: see shard_plan.h. */
#include "shard_plan.h"

#include <string.h>
#include <unistd.h>

/* One slot per so many bytes of capacity. Chunks that are smaller on average run out of slots
 * before they run out of bytes. */
#define BYTES_PER_SLOT 4096
#define LEAST_SLOTS 256
#define MOST_SLOTS (UINT32_C(1) << 30) /* extents, two and a half for each, are numbered, too */
#define SLOTS_PER_HEAD 4
#define SLOTS_PER_FILE_HEAD 32
#define SLOTS_PER_SKETCH_WORD 8

/* In a shared shard, how often a reader starts again at most. */
#define MOST_STARTS 1000

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

uint64_t oap_extents_for(uint64_t slots, uint64_t regions) {
  return slots + slots / 2 * 3 + 3 * regions + OAP_MAX_PIECES;
}

/* Slots and extents fill up from the bottom, so that room for the most costs nothing. The others
 * are touched all over, so they are made for what is used commonly. */
static oap_table_plan plan_tables(uint64_t commonly, uint64_t most, uint32_t most_slots,
                                  uint32_t stripes, bool is_shared) {
  oap_table_plan t;
  t.slots = oap_least(oap_shard_slots_for(most), most_slots);
  t.regions = most / OAP_WINDOW_BYTES + 2 * (uint64_t)stripes;
  t.extents = oap_extents_for(t.slots, t.regions);
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
  t.commons_at = oap_round_up(t.stripes_at + stripes * sizeof(oap_range), 4096);
  t.pins_at = oap_round_up(t.commons_at + sizeof(oap_commons), page);
  t.pins_stride = oap_round_up((t.slots + 1) * sizeof(uint32_t), page);
  t.bytes = is_shared ? t.pins_at + OAP_MOST_MEMBERS * t.pins_stride : t.commons_at;
  return t;
}

oap_table_plan oap_plan_tables(const oap_shard_options *options) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < options->stripe_count; i++) {
    most += options->stripes[i].bytes;
  }
  return plan_tables(options->part * options->stripe_count, most, options->most_slots,
                     options->stripe_count, options->members != NULL);
}

oap_kept_plan oap_shard_kept_plan(const oap_shard_options *options) {
  oap_table_plan t = oap_plan_tables(options);
  uint64_t sketch = t.words_end - t.words_at;
  return options->members == NULL
             ? (oap_kept_plan){.bytes = t.slots_end + sketch,
                               .sketch_at = t.slots_end,
                               .sketch_bytes = sketch}
             : (oap_kept_plan){.bytes = t.bytes, .sketch_at = t.words_at, .sketch_bytes = sketch};
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

void oap_place_tables(oap_shard *shard, char *table, const oap_table_plan *t,
                      const oap_shard_options *options) {
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
      .most_starts = options->members == NULL ? UINT32_MAX : MOST_STARTS,
  };
  shard->order = (oap_order){
      .slots = shard->slots,
      .holders = &shard->holders,
      .sketch = {.words = (uint64_t *)(table + t->words_at), .mask = (uint32_t)(t->words - 1)},
      .ring = (_Atomic uint32_t *)(table + t->ring_at),
  };
  oap_space_init(&shard->space, (oap_extent *)(table + t->extents_at), (uint32_t)t->extents);
  shard->number = options->number;
  shard->hash_shift = options->hash_shift;
  shard->stripe_count = options->stripe_count;
  shard->arenas = options->arenas;
  shard->windows = options->windows;
  shard->order.policy = options->policy;
}

void oap_add_regions(oap_shard *shard) {
  for (uint32_t i = 0; i < shard->stripe_count; i++) {
    add_regions(shard, shard->stripes[i]);
  }
}
