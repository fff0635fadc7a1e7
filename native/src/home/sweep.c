/* See sweep.h. */
#include "sweep.h"

#include "shard/room.h"

/* Under the lock: frees a slot that was somebody's alone, who is gone. Its loader counts as one who
 * has it pinned. */
static void free_if_nobodys(oap_shard *shard, uint32_t number) {
  oap_slot *slot = &shard->slots[number];
  uint64_t word = atomic_load(&slot->word);
  enum oap_state state = oap_word_state(word);
  bool is_waiting = state == OAP_LOADING || state == OAP_DOOMED || state == OAP_DROPPED;
  if (!is_waiting || !oap_is_unpinned(&shard->holders, number, word)) {
    return;
  }
  atomic_store(&slot->word, oap_word_freed(word));
  if (state == OAP_LOADING) {
    oap_index_remove(&shard->index, number);
    oap_order_remove(&shard->order, number);
  }
  oap_room_free(shard, number, NULL);
}

/* Frees all that nobody has any more; false: the lock was not to be had. */
static bool free_leftovers(oap_shard *shard) {
  bool is_locked = oap_shard_lock(shard);
  for (uint32_t i = 1; is_locked && i <= shard->slot_top; i++) {
    free_if_nobodys(shard, i);
    is_locked = oap_shard_yield(shard, i);
  }
  if (is_locked) {
    /* Whoever died may have made something visible, or ended that, and not said so. */
    atomic_fetch_add(&shard->commons->changes, 1);
    oap_shard_unlock(shard);
  }
  return is_locked;
}

bool oap_shard_sweep(oap_shard *shard, uint32_t member) {
  oap_forget_pins(&shard->holders, member, atomic_load(shard->kept.ready));
  atomic_store(&shard->commons->pinned[member], 0);
  return free_leftovers(shard);
}

void oap_shard_sweep_leftovers(oap_shard *shard) {
  if (atomic_exchange(&shard->has_leftovers, false) && !free_leftovers(shard)) {
    atomic_store(&shard->has_leftovers, true);
  }
}
