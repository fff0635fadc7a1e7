/* The inner check of a shard: see shard_check.h. */
#include "shard_check.h"

#include "slots/space_check.h"
#include "stripe.h"

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
    bool is_nobodys = state != OAP_PUBLISHED && oap_is_unpinned(&shard->holders, i, word);
    const char *fault = state == OAP_CLAIMED || (shard->commons != NULL && is_nobodys)
                            ? "shard: slot that nobody will free"
                            : validate_slot(shard, i, &used_units);
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
  oap_counters_add(shard->counters, &sum);
  if (free != 0 || linked != visible) {
    return "shard: slots lost";
  }
  if (used_units != oap_space_used(&shard->space)) {
    return "shard: space lost";
  }
  /* Of a shared shard, each process counts what it has done. */
  bool right = shard->commons != NULL || (published == sum.chunks && pinned == sum.pinned_chunks);
  return right ? NULL : "shard: chunks miscounted";
}

static const char *validate_limits(const oap_shard *shard) {
  uint64_t units = 0;
  for (uint32_t r = 0; r < shard->stripe_count; r++) {
    units += shard->stripes[r].bytes / OAP_ALIGNMENT;
  }
  uint64_t seen = 0;
  for (uint32_t r = 0; r < shard->region_count; r++) {
    for (uint32_t e = shard->regions[r]; e != 0; e = shard->space.extents[e].next) {
      const oap_extent *extent = &shard->space.extents[e];
      uint64_t limit = oap_stripe_limit(shard, extent->position);
      seen += extent->units;
      if ((extent->owner == 0 && oap_extent_end(extent) > limit) ||
          (extent->owner == OAP_AWAY && extent->position < limit)) {
        return "shard: extent on the wrong side of the limit";
      }
    }
  }
  return seen == units ? NULL : "shard: regions do not add up";
}

const char *oap_shard_validate(oap_shard *shard) {
  if (!oap_shard_lock(shard)) {
    return "shard: the lock is not to be had";
  }
  uint32_t indexed = 0;
  uint32_t queued = 0;
  const char *fault = oap_space_validate(&shard->space);
  if (fault == NULL) {
    fault = validate_limits(shard);
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
  oap_shard_unlock(shard);
  return fault;
}
