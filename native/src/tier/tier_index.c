/* The tier's index: see tier_index.h. */
#include "tier_index.h"

#include "arena/table.h"
#include "slots/slot.h"

#include <errno.h>
#include <string.h>

#define HEADS_PER_SEGMENT 256

int oap_tier_index_open(oap_tier_index *index, uint64_t segments) {
  uint64_t heads = HEADS_PER_SEGMENT;
  while (heads < segments * HEADS_PER_SEGMENT) {
    heads *= 2;
  }
  if (segments > UINT32_MAX / OAP_TIER_ENTRIES - 1) {
    return -EFBIG;
  }
  uint64_t entries = (segments * OAP_TIER_ENTRIES + 1) * sizeof(oap_tier_entry);
  *index = (oap_tier_index){.mask = (uint32_t)(heads - 1),
                            .table_bytes = entries + 2 * heads * sizeof(uint32_t)};
  index->table = oap_table_map(index->table_bytes);
  if (index->table == NULL) {
    return -errno;
  }
  index->entries = index->table;
  index->heads = (uint32_t *)((char *)index->table + entries);
  index->file_heads = index->heads + heads;
  return 0;
}

void oap_tier_index_close(oap_tier_index *index) {
  oap_table_unmap(index->table, index->table_bytes);
}

static uint32_t *head_of(const oap_tier_index *index, const uint64_t key[4]) {
  /* The representation too, unlike the pool: chunks often have several here. */
  return &index->heads[oap_mix(oap_key_hash(key) ^ key[3]) & index->mask];
}

static uint32_t *file_head_of(const oap_tier_index *index, uint64_t high, uint64_t low) {
  return &index->file_heads[oap_file_hash(high, low) & index->mask];
}

uint32_t oap_tier_index_find(const oap_tier_index *index, const uint64_t key[4]) {
  uint32_t i = *head_of(index, key);
  while (i != 0 && memcmp(index->entries[i].key, key, sizeof(index->entries[i].key)) != 0) {
    i = index->entries[i].next;
  }
  return i;
}

uint32_t oap_tier_index_of_file(const oap_tier_index *index, uint64_t high, uint64_t low) {
  uint32_t i = *file_head_of(index, high, low);
  while (i != 0 && (index->entries[i].key[0] != high || index->entries[i].key[1] != low)) {
    i = index->entries[i].file_next;
  }
  return i;
}

void oap_tier_index_insert(oap_tier_index *index, uint32_t number) {
  oap_tier_entry *entry = &index->entries[number];
  uint32_t *head = head_of(index, entry->key);
  uint32_t *file_head = file_head_of(index, entry->key[0], entry->key[1]);
  entry->next = *head;
  entry->previous = 0;
  entry->file_next = *file_head;
  entry->file_previous = 0;
  if (*head != 0) {
    index->entries[*head].previous = number;
  }
  if (*file_head != 0) {
    index->entries[*file_head].file_previous = number;
  }
  *head = number;
  *file_head = number;
  index->chunks++;
  index->bytes += entry->bytes;
}

void oap_tier_index_remove(oap_tier_index *index, uint32_t number) {
  oap_tier_entry *entry = &index->entries[number];
  if (entry->bytes == 0) {
    return;
  }
  if (entry->previous != 0) {
    index->entries[entry->previous].next = entry->next;
  } else {
    *head_of(index, entry->key) = entry->next;
  }
  if (entry->next != 0) {
    index->entries[entry->next].previous = entry->previous;
  }
  if (entry->file_previous != 0) {
    index->entries[entry->file_previous].file_next = entry->file_next;
  } else {
    *file_head_of(index, entry->key[0], entry->key[1]) = entry->file_next;
  }
  if (entry->file_next != 0) {
    index->entries[entry->file_next].file_previous = entry->file_previous;
  }
  index->chunks--;
  index->bytes -= entry->bytes;
  entry->bytes = 0;
}

const char *oap_tier_index_validate(const oap_tier_index *index) {
  uint64_t chunks = 0;
  uint64_t bytes = 0;
  uint64_t of_files = 0;
  for (uint64_t head = 0; head <= index->mask; head++) {
    uint32_t before = 0;
    for (uint32_t i = index->heads[head]; i != 0; i = index->entries[i].next) {
      const oap_tier_entry *entry = &index->entries[i];
      if (entry->bytes == 0 || entry->previous != before || ++chunks > index->chunks) {
        return "tier: chain broken";
      }
      bytes += entry->bytes;
      before = i;
    }
    before = 0;
    for (uint32_t i = index->file_heads[head]; i != 0; i = index->entries[i].file_next) {
      if (index->entries[i].file_previous != before || ++of_files > index->chunks) {
        return "tier: chain of files broken";
      }
      before = i;
    }
  }
  return chunks != index->chunks || bytes != index->bytes || of_files != chunks
             ? "tier: index miscounted"
             : NULL;
}
