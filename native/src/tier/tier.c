/* The tier's life, and what others ask it: see oap_tier.h. */
#include "tier.h"

#include "arena/table.h"
#include "base/content_hash.h"
#include "slots/slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SEGMENT (UINT64_C(1) << 30)

/* A word of the sketch for so many bytes of the tier. */
#define BYTES_PER_WORD (UINT64_C(256) << 10)
#define LEAST_WORDS 4096

static int make_tables(oap_tier *tier) {
  uint64_t words = LEAST_WORDS;
  while (words < tier->counted.capacity_bytes / BYTES_PER_WORD) {
    words *= 2;
  }
  uint64_t staging = tier->segment_blocks * OAP_TIER_BLOCK;
  tier->segments = calloc(tier->segment_count, sizeof(*tier->segments));
  tier->asked.words = oap_table_map(words * sizeof(uint64_t));
  tier->asked.mask = (uint32_t)(words - 1);
  tier->staging = oap_table_map(staging);
  int error = oap_tier_index_open(&tier->index, tier->segment_count);
  bool has_all = tier->segments != NULL && tier->asked.words != NULL && tier->staging != NULL;
  return has_all ? error : -ENOMEM;
}

static void free_tier(oap_tier *tier) {
  oap_tier_index_close(&tier->index);
  oap_table_unmap(tier->staging, tier->segment_blocks * OAP_TIER_BLOCK);
  oap_table_unmap(tier->asked.words, (tier->asked.mask + UINT64_C(1)) * sizeof(uint64_t));
  free(tier->segments);
  free(tier->leaving);
  pthread_mutex_destroy(&tier->lock);
  free(tier);
}

int oap_tier_open(const oap_tier_options *options, oap_tier **out) {
  uint64_t segment = options->segment == 0 ? OAP_TIER_SEGMENT : options->segment;
  uint64_t segments = options->capacity / segment;
  if (segment % OAP_TIER_BLOCK != 0 || segment > MOST_SEGMENT || segments == 0) {
    return -EINVAL;
  }
  if (options->capacity / OAP_TIER_BLOCK > UINT32_MAX) {
    return -EFBIG;
  }
  oap_tier *tier = calloc(1, sizeof(*tier));
  if (tier == NULL) {
    return -ENOMEM;
  }
  pthread_mutex_init(&tier->lock, NULL);
  tier->segment_count = (uint32_t)segments;
  tier->segment_blocks = (uint32_t)(segment / OAP_TIER_BLOCK);
  tier->counted.capacity_bytes = segments * segment;
  int error = make_tables(tier);
  if (error == 0) {
    error = oap_tier_file_open(&tier->file, options->path, tier->counted.capacity_bytes);
  }
  if (error != 0) {
    free_tier(tier);
    return error;
  }
  *out = tier;
  return 0;
}

void oap_tier_stop(oap_tier *tier) {
  oap_periodic_end(&tier->thread);
  pthread_mutex_lock(&tier->lock);
  tier->is_off = true;
  oap_tier_forget_all(tier);
  pthread_mutex_unlock(&tier->lock);
  oap_tier_file_empty(&tier->file);
}

void oap_tier_close(oap_tier *tier) {
  oap_periodic_destroy(&tier->thread);
  oap_tier_file_close(&tier->file);
  free_tier(tier);
}

int oap_tier_find(oap_tier *tier, const oap_key *key, uint64_t *bytes) {
  oap_hashed_key hashed = oap_hashed(key);
  pthread_mutex_lock(&tier->lock);
  uint32_t entry = oap_tier_index_find(&tier->index, hashed.words);
  *bytes = tier->index.entries[entry].bytes; /* that of none is 0 */
  int result = tier->is_off ? -ESHUTDOWN : entry == 0 ? -ENOENT : 0;
  pthread_mutex_unlock(&tier->lock);
  return result;
}

/* Where the next bytes of a chunk go. */
typedef struct cursor {
  const oap_chunk *chunk;
  uint32_t piece;
  uint64_t done; /* of that piece */
} cursor;

static void put_into(cursor *at, const unsigned char *from, uint64_t bytes) {
  while (bytes > 0) {
    const oap_piece *piece = &at->chunk->piece[at->piece];
    uint64_t part = oap_least(bytes, piece->bytes - at->done);
    memcpy(piece->data + at->done, from, part);
    from += part;
    bytes -= part;
    at->done += part;
    if (at->done == piece->bytes) {
      at->piece++;
      at->done = 0;
    }
  }
}

/* Reads a chunk from where it was; 0 or -errno, EIO also where it is no more what it was. */
static int read_chunk(oap_tier *tier, const oap_tier_entry *from, const oap_chunk *into) {
  unsigned char *buffer = oap_tier_buffer_take(&tier->file);
  if (buffer == NULL) {
    return -ENOMEM;
  }
  cursor at = {.chunk = into};
  oap_content content;
  oap_content_begin(&content, from->key);
  int error = 0;
  for (uint64_t done = 0; error == 0 && done < from->bytes; done += OAP_TIER_BUFFER) {
    uint64_t part = oap_least(from->bytes - done, OAP_TIER_BUFFER);
    error = oap_tier_file_read(&tier->file, from->block * OAP_TIER_BLOCK + done, buffer,
                               oap_round_up(part, OAP_TIER_BLOCK));
    if (error == 0) {
      oap_content_add(&content, buffer, part);
      put_into(&at, buffer, part);
    }
  }
  oap_tier_buffer_give(&tier->file, buffer);
  bool is_right = oap_content_end(&content, from->bytes, from->note) == from->content;
  return error == 0 && !is_right ? -EIO : error;
}

/* Under the lock: whether an entry still is the chunk that it was. */
static bool is_still(const oap_tier *tier, uint32_t number, const oap_tier_entry *before) {
  const oap_tier_entry *now = &tier->index.entries[number];
  return now->bytes == before->bytes && now->block == before->block &&
         now->content == before->content;
}

/* What came of reading a chunk. Failures of one that has been overwritten or dropped meanwhile are
 * none of the disk's. */
static int finish_read(oap_tier *tier, uint32_t number, const oap_tier_entry *entry, int error) {
  pthread_mutex_lock(&tier->lock);
  bool is_same = is_still(tier, number, entry);
  if (error == 0) {
    tier->counted.hits++;
    tier->counted.bytes_read += entry->bytes;
    tier->index.entries[number].hits += is_same;
    oap_tier_note_read(tier, false);
  } else if (!is_same) {
    error = -ENOENT;
  } else if (error != -ENOMEM) {
    oap_tier_index_remove(&tier->index, number);
    oap_tier_note_read(tier, true);
  }
  pthread_mutex_unlock(&tier->lock);
  return error;
}

int oap_tier_read(oap_tier *tier, const oap_key *key, const oap_chunk *into, uint64_t *note) {
  oap_hashed_key hashed = oap_hashed(key);
  pthread_mutex_lock(&tier->lock);
  bool is_off = tier->is_off;
  uint32_t number = oap_tier_index_find(&tier->index, hashed.words);
  oap_tier_entry entry = tier->index.entries[number];
  pthread_mutex_unlock(&tier->lock);
  if (is_off || number == 0 || entry.bytes != into->bytes) {
    return is_off ? -ESHUTDOWN : -ENOENT;
  }
  *note = entry.note;
  return finish_read(tier, number, &entry, read_chunk(tier, &entry, into));
}

/* Under the lock: forgets chunks on their way down. */
static bool drop_staged(oap_tier *tier, const uint64_t *key, uint64_t words) {
  bool was_there = false;
  for (uint32_t i = 0; i < tier->staged_count; i++) {
    oap_tier_staged *staged = &tier->staged[i];
    if (!staged->is_dropped && memcmp(staged->key, key, words * sizeof(*key)) == 0) {
      staged->is_dropped = true;
      was_there = true;
    }
  }
  return was_there;
}

int oap_tier_drop(oap_tier *tier, const oap_key *key) {
  oap_hashed_key hashed = oap_hashed(key);
  pthread_mutex_lock(&tier->lock);
  uint32_t entry = oap_tier_index_find(&tier->index, hashed.words);
  oap_tier_index_remove(&tier->index, entry);
  bool was_there = drop_staged(tier, hashed.words, 4) || entry != 0;
  pthread_mutex_unlock(&tier->lock);
  return was_there ? 0 : -ENOENT;
}

void oap_tier_drop_file(oap_tier *tier, uint64_t file_high, uint64_t file_low) {
  const uint64_t file[2] = {file_high, file_low};
  pthread_mutex_lock(&tier->lock);
  drop_staged(tier, file, 2);
  uint32_t entry;
  while ((entry = oap_tier_index_of_file(&tier->index, file_high, file_low)) != 0) {
    oap_tier_index_remove(&tier->index, entry);
  }
  pthread_mutex_unlock(&tier->lock);
}

void oap_tier_clear(oap_tier *tier) {
  pthread_mutex_lock(&tier->lock);
  oap_tier_forget_all(tier);
  pthread_mutex_unlock(&tier->lock);
}

void oap_tier_stats_of(oap_tier *tier, oap_tier_stats *out) {
  pthread_mutex_lock(&tier->lock);
  *out = tier->counted;
  out->held_bytes = tier->index.bytes;
  out->chunks = tier->index.chunks;
  pthread_mutex_unlock(&tier->lock);
}

const char *oap_tier_validate(oap_tier *tier) {
  pthread_mutex_lock(&tier->lock);
  const char *fault = oap_tier_index_validate(&tier->index);
  pthread_mutex_unlock(&tier->lock);
  return fault;
}
