/* The tier's log: see tier.h. */
#include "tier.h"

#include "base/content_hash.h"
#include "slots/slot.h"

#include <errno.h>
#include <string.h>

/* Writes have so many bytes where there are so many: enough for a disk to be at its fastest. */
#define WRITE_BYTES (UINT64_C(8) << 20)

static uint32_t blocks_of(uint64_t bytes) {
  return (uint32_t)((bytes + OAP_TIER_BLOCK - 1) / OAP_TIER_BLOCK);
}

/* Under the lock: makes an entry of a chunk that has been written. */
static void enter(oap_tier *tier, const oap_tier_staged *chunk, uint32_t first_block) {
  oap_tier_segment *segment = &tier->segments[tier->open];
  uint32_t number = oap_tier_first_of(tier->open) + segment->entries++;
  oap_tier_entry *entry = &tier->index.entries[number];
  memcpy(entry->key, chunk->key, sizeof(entry->key));
  entry->content = chunk->content;
  entry->note = chunk->note;
  entry->bytes = chunk->bytes;
  entry->block = first_block + chunk->block;
  entry->hits = 0;
  oap_tier_index_insert(&tier->index, number);
}

void oap_tier_flush(oap_tier *tier) {
  if (tier->staged_blocks == 0) {
    return;
  }
  oap_tier_segment *segment = &tier->segments[tier->open];
  uint32_t first = tier->open * tier->segment_blocks + segment->blocks;
  uint64_t bytes = tier->staged_blocks * OAP_TIER_BLOCK;
  int error = oap_tier_file_write(&tier->file, first * OAP_TIER_BLOCK, tier->staging, bytes);
  pthread_mutex_lock(&tier->lock);
  oap_tier_note_write(tier, error != 0);
  for (uint32_t i = 0; error == 0 && i < tier->staged_count && !tier->is_off; i++) {
    if (!tier->staged[i].is_dropped) {
      enter(tier, &tier->staged[i], first);
    }
  }
  tier->counted.bytes_written += error == 0 ? bytes : 0;
  tier->staged_count = 0;
  pthread_mutex_unlock(&tier->lock);
  segment->blocks += error == 0 ? tier->staged_blocks : 0; /* else it is written over */
  tier->staged_blocks = 0;
}

/* Under the lock: stages the chunks of a segment that were read since it was written, up to so many
 * blocks; they are yet to be read. from gets where each starts in the file. */
static void stage_survivors(oap_tier *tier, uint32_t segment, uint32_t most,
                            uint32_t from[OAP_TIER_STAGED]) {
  for (uint32_t i = 0; i < tier->segments[segment].entries; i++) {
    const oap_tier_entry *entry = &tier->index.entries[oap_tier_first_of(segment) + i];
    uint32_t blocks = blocks_of(entry->bytes);
    if (entry->bytes == 0 || entry->hits == 0 || tier->staged_blocks + blocks > most ||
        tier->staged_count == OAP_TIER_STAGED - 1) { /* one is for the chunk that comes */
      continue;
    }
    oap_tier_staged *staged = &tier->staged[tier->staged_count];
    from[tier->staged_count++] = entry->block;
    memcpy(staged->key, entry->key, sizeof(staged->key));
    staged->content = entry->content;
    staged->note = entry->note;
    staged->bytes = entry->bytes;
    staged->block = tier->staged_blocks;
    staged->is_dropped = false;
    tier->staged_blocks += blocks;
  }
}

/* Reads a chunk that stays into its place in the staging memory. */
static void read_survivor(oap_tier *tier, uint32_t i, uint32_t from) {
  oap_tier_staged *staged = &tier->staged[i];
  int error = oap_tier_file_read(&tier->file, from * OAP_TIER_BLOCK,
                                 tier->staging + staged->block * OAP_TIER_BLOCK,
                                 blocks_of(staged->bytes) * OAP_TIER_BLOCK);
  pthread_mutex_lock(&tier->lock);
  oap_tier_note_read(tier, error != 0);
  staged->is_dropped |= error != 0;
  pthread_mutex_unlock(&tier->lock);
}

/* Opens the oldest segment, to be written over from its start. What was read there is staged, up to
 * a half of it, and no more than leaves room for so many blocks. */
static void open_next(oap_tier *tier, uint32_t blocks) {
  uint32_t from[OAP_TIER_STAGED];
  uint32_t next = (tier->open + 1) % tier->segment_count;
  uint32_t rest = tier->segment_blocks - blocks;
  uint32_t half = tier->segment_blocks / 2;
  pthread_mutex_lock(&tier->lock);
  stage_survivors(tier, next, rest < half ? rest : half, from);
  pthread_mutex_unlock(&tier->lock);
  for (uint32_t i = 0; i < tier->staged_count; i++) {
    read_survivor(tier, i, from[i]);
  }
  pthread_mutex_lock(&tier->lock);
  for (uint32_t i = 0; i < tier->segments[next].entries; i++) {
    oap_tier_index_remove(&tier->index, oap_tier_first_of(next) + i);
  }
  tier->counted.evicted_segments += tier->segments[next].entries > 0;
  tier->segments[next].entries = 0;
  tier->segments[next].blocks = 0;
  tier->open = next;
  pthread_mutex_unlock(&tier->lock);
}

/* Sees to it that the open segment and the staging memory have room for one more chunk. */
static void make_room(oap_tier *tier, uint32_t blocks) {
  const oap_tier_segment *open = &tier->segments[tier->open];
  bool is_full = open->blocks + tier->staged_blocks + blocks > tier->segment_blocks ||
                 open->entries + tier->staged_count == OAP_TIER_ENTRIES;
  if (is_full || tier->staged_count == OAP_TIER_STAGED) {
    oap_tier_flush(tier);
  }
  if (is_full) {
    open_next(tier, blocks);
  }
}

/* Copies a chunk into the staging memory; returns its hash. */
static uint64_t copy(oap_tier *tier, const uint64_t key[4], const oap_chunk *chunk, uint64_t note) {
  unsigned char *to = tier->staging + tier->staged_blocks * OAP_TIER_BLOCK;
  oap_content content;
  oap_content_begin(&content, key);
  for (uint32_t i = 0; i < chunk->pieces; i++) {
    memcpy(to, chunk->piece[i].data, chunk->piece[i].bytes);
    oap_content_add(&content, to, chunk->piece[i].bytes);
    to += chunk->piece[i].bytes;
  }
  memset(to, 0, blocks_of(chunk->bytes) * OAP_TIER_BLOCK - chunk->bytes);
  return oap_content_end(&content, chunk->bytes, note);
}

/* Under the lock. */
static bool is_known(const oap_tier *tier, const uint64_t key[4]) {
  bool is_known = oap_tier_index_find(&tier->index, key) != 0;
  for (uint32_t i = 0; i < tier->staged_count && !is_known; i++) {
    is_known = !tier->staged[i].is_dropped &&
               memcmp(tier->staged[i].key, key, sizeof(tier->staged[i].key)) == 0;
  }
  return is_known;
}

int oap_tier_put(oap_tier *tier, const oap_key *key, const oap_chunk *chunk, uint64_t note) {
  oap_hashed_key hashed = oap_hashed(key);
  uint32_t blocks = blocks_of(chunk->bytes);
  if (chunk->bytes > tier->segment_blocks * OAP_TIER_BLOCK) {
    return -EFBIG;
  }
  pthread_mutex_lock(&tier->lock);
  int refused = tier->is_off ? -ESHUTDOWN : is_known(tier, hashed.words) ? -EEXIST : 0;
  pthread_mutex_unlock(&tier->lock);
  if (refused != 0) {
    return refused;
  }
  make_room(tier, blocks);
  oap_tier_staged staged = {.note = note,
                            .bytes = (uint32_t)chunk->bytes,
                            .block = tier->staged_blocks,
                            .content = copy(tier, hashed.words, chunk, note)};
  memcpy(staged.key, hashed.words, sizeof(staged.key));
  pthread_mutex_lock(&tier->lock);
  tier->staged[tier->staged_count++] = staged;
  pthread_mutex_unlock(&tier->lock);
  tier->staged_blocks += blocks;
  if (tier->staged_blocks * OAP_TIER_BLOCK >= WRITE_BYTES) {
    oap_tier_flush(tier);
  }
  return 0;
}
