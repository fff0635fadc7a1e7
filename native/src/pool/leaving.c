/* Chunks that would leave next: see leaving.h. */
#include "leaving.h"

/* How far from its end a queue is looked at: a part of the capacity, and so many slots, since the
 * shard is locked meanwhile. S3-FIFO's small queue has a twentieth. */
#define WINDOW_PART 16
#define WINDOW_SLOTS 512

static uint64_t look_at(const oap_shard *shard, const oap_queue *queue, oap_leaving *out,
                        uint64_t room, uint64_t count) {
  uint64_t bytes = 0;
  uint32_t looks = WINDOW_SLOTS;
  for (uint32_t i = queue->tail; i != 0 && looks > 0 && count < room; looks--) {
    const oap_slot *slot = &shard->slots[i];
    if (oap_is_evictable(&shard->holders, shard->slots, i)) {
      out[count++] = (oap_leaving){
          .key = oap_plain_key(oap_slot_key(slot).words),
          .was_used = oap_word_was_used(atomic_load_explicit(&slot->word, memory_order_relaxed)),
      };
    }
    bytes += slot->bytes;
    i = bytes < shard->capacity / WINDOW_PART ? slot->queue_previous : 0;
  }
  return count;
}

uint64_t oap_shard_leaving(oap_shard *shard, oap_leaving *out, uint64_t room, uint64_t count) {
  if (!oap_shard_lock(shard)) {
    return count;
  }
  for (unsigned q = 0; q < OAP_QUEUES; q++) {
    count = look_at(shard, &shard->order.queue[q], out, room, count);
  }
  oap_shard_unlock(shard);
  return count;
}
