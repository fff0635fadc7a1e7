/* A shard's life and its figures: see shard.h. */
#include "shard.h"

#include "arena/table.h"

bool oap_shard_set_retired(oap_shard *shard, bool retired) {
  bool is_locked = retired && oap_shard_lock(shard);
  if (is_locked || !retired) {
    atomic_store(&shard->retired, retired);
  }
  if (is_locked) {
    oap_shard_unlock(shard);
  }
  return is_locked || !retired;
}

/* Whether this process has pins, or loads anything. */
static bool has_pins(const oap_shard *shard) {
  uint32_t last = atomic_load(shard->kept.ready);
  for (uint32_t i = 1; i <= last; i++) {
    if (atomic_load(oap_own_pins(&shard->holders, i)) != 0) {
      return true;
    }
  }
  return false;
}

bool oap_shard_is_busy(oap_shard *shard) {
  if (shard->commons != NULL) {
    return has_pins(shard);
  }
  oap_shard_lock(shard);
  bool busy = shard->releasing > 0;
  for (uint32_t i = 1; i <= shard->slot_top && !busy; i++) {
    /* Acquire: what was read under a pin that has gone was read before what follows here. */
    uint64_t word = atomic_load_explicit(&shard->slots[i].word, memory_order_acquire);
    enum oap_state state = oap_word_state(word);
    /* A dropped chunk is so until its room is given back, which comes after its last pin. */
    busy = state != OAP_FREE && (state != OAP_PUBLISHED || oap_word_pins(word) > 0);
  }
  oap_shard_unlock(shard);
  return busy;
}

bool oap_shard_list(oap_shard *shard, oap_held *out, uint64_t room, uint64_t *count) {
  bool more = true;
  for (uint32_t i = 1; more;) {
    if (!oap_shard_lock(shard)) {
      return false;
    }
    for (uint32_t end = i + OAP_SLOTS_AT_ONCE; i < end && i <= shard->slot_top; i++) {
      const oap_slot *slot = &shard->slots[i];
      uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
      if (oap_word_state(word) != OAP_PUBLISHED) {
        continue;
      }
      if (*count < room) {
        oap_hashed_key held = oap_slot_key(slot);
        out[*count] = (oap_held){
            .key = oap_plain_key(held.words),
            .bytes = slot->bytes,
            .asks = oap_sketch_count(&shard->order.sketch, held.hash) + oap_uses(slot),
        };
      }
      (*count)++;
    }
    more = i <= shard->slot_top;
    oap_shard_unlock(shard);
  }
  return true;
}

void oap_shard_stats(oap_shard *shard, oap_stats *sum) {
  uint64_t chunks = sum->chunks;
  oap_counters_add(shard->counters, sum);
  bool is_locked = oap_shard_lock(shard);
  if (shard->commons != NULL) { /* of all processes; those that are being loaded among them */
    sum->chunks = chunks;
    for (unsigned q = 0; q < OAP_QUEUES; q++) {
      sum->chunks += shard->order.queue[q].count;
    }
  }
  const uint64_t *counted = (const uint64_t *)&shard->counted;
  for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++) {
    ((uint64_t *)sum)[i] += counted[i];
  }
  sum->capacity_bytes += shard->capacity;
  sum->used_bytes += oap_space_used(&shard->space) * OAP_ALIGNMENT;
  uint64_t slots = (shard->slot_top + 1) * sizeof(oap_slot);
  uint64_t extents = (shard->space.top + 1) * sizeof(oap_extent);
  if (is_locked) {
    oap_shard_unlock(shard);
  }
  char *end = (char *)shard->table + shard->table_bytes;
  char *heads = (char *)shard->index.heads;
  sum->metadata_bytes += sizeof(*shard) + oap_table_resident(shard->slots, slots) +
                         oap_table_resident(shard->space.extents, extents) +
                         oap_table_resident(heads, (uint64_t)(end - heads));
}

uint64_t oap_shard_version(const oap_shard *shard) {
  return shard->commons == NULL
             ? oap_counters_version(shard->counters)
             : atomic_load_explicit(&shard->commons->changes, memory_order_acquire);
}

uint64_t oap_shard_pinned(const oap_shard *shard, uint64_t *bytes) {
  uint64_t sum = oap_counters_sum(shard->counters);
  for (uint32_t m = 0; shard->commons != NULL && m < OAP_MOST_MEMBERS; m++) {
    if (m != shard->holders.self) {
      sum += atomic_load_explicit(&shard->commons->pinned[m], memory_order_relaxed);
    }
  }
  return oap_pinned_chunks(sum, bytes);
}
