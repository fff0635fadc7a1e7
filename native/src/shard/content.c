/* The bytes of a slot's chunk: see content.h. */
#include "content.h"

#include "arena/arena_parts.h"
#include "base/content_hash.h"
#include "stripe.h"

uint64_t oap_content_hash(const oap_shard *shard, const oap_slot *slot) {
  oap_hashed_key key = oap_slot_key(slot);
  oap_content content;
  oap_content_begin(&content, key.words);
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) { /* only the last may end within a block */
    oap_piece piece = oap_slot_piece(slot, i);
    oap_content_add(&content, oap_shard_address(shard, piece.position), piece.bytes);
  }
  return oap_content_end(&content, slot->bytes, slot->note);
}

bool oap_content_is_readable(const oap_shard *shard, const oap_slot *slot) {
  bool is_readable = true;
  for (uint32_t i = 0; is_readable && i < oap_slot_pieces(slot); i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    bool is_in_file = oap_stripe_arena(shard, piece.position)->file >= 0;
    is_readable = !is_in_file ||
                  oap_memory_is_readable(oap_shard_address(shard, piece.position), piece.bytes);
  }
  return is_readable;
}
