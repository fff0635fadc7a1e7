/* Dropping: see drop.h. */
#include "drop.h"

#include "shard/room.h"

#include <errno.h>

int oap_shard_drop(oap_shard *shard, const oap_hashed_key *key) {
  if (!oap_shard_lock(shard)) {
    return -EAGAIN;
  }
  uint64_t word;
  uint32_t number = oap_index_find(&shard->index, key, &word);
  if (number != 0) {
    oap_room_drop(shard, number);
  }
  oap_shard_unlock(shard);
  return number != 0 ? 0 : -ENOENT;
}

/* Under the lock: drops some of a file's chunks, from the start of its chain; how many. */
static uint32_t drop_some(oap_shard *shard, uint64_t high, uint64_t low) {
  uint32_t dropped = 0;
  uint32_t next;
  for (uint32_t i = oap_index_file(&shard->index, high, low); i != 0 && dropped < OAP_SLOTS_AT_ONCE;
       i = next) {
    const oap_slot *slot = &shard->slots[i];
    next = slot->file_next;
    oap_hashed_key key = oap_slot_key(slot);
    if (key.words[0] == high && key.words[1] == low) {
      oap_room_drop(shard, i);
      dropped++;
    }
  }
  return dropped;
}

uint64_t oap_shard_drop_file(oap_shard *shard, uint64_t high, uint64_t low) {
  uint64_t all = 0;
  uint32_t dropped;
  do {
    if (!oap_shard_lock(shard)) {
      return all;
    }
    dropped = drop_some(shard, high, low);
    oap_shard_unlock(shard);
    all += dropped;
  } while (dropped == OAP_SLOTS_AT_ONCE);
  return all;
}

void oap_shard_forget(oap_shard *shard) {
  oap_stats seen = {0};
  oap_counters_add(shard->counters, &seen);
  oap_count_visible(shard->counters, -(int)seen.chunks);
}

bool oap_shard_clear(oap_shard *shard, uint64_t *dropped) {
  bool is_locked = oap_shard_lock(shard);
  for (uint32_t i = 1; is_locked && i <= shard->slot_top; i++) {
    enum oap_state state =
        oap_word_state(atomic_load_explicit(&shard->slots[i].word, memory_order_relaxed));
    if (state == OAP_PUBLISHED || state == OAP_LOADING) {
      oap_room_drop(shard, i);
      if (dropped != NULL) {
        ++*dropped;
      }
    }
    is_locked = oap_shard_yield(shard, i);
  }
  if (is_locked) {
    oap_shard_unlock(shard);
  }
  return is_locked;
}
