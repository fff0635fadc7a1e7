/* The content hash: see content.h. */
#include "content.h"

#include <string.h>

#define MULTIPLIER UINT64_C(0x9e3779b185ebca87)

enum { LANES = 4, BLOCK = 32 };

static uint64_t step(uint64_t lane, uint64_t word) {
  lane += word * UINT64_C(0xc2b2ae3d27d4eb4f);
  return ((lane << 31) | (lane >> 33)) * MULTIPLIER;
}

static void add_block(uint64_t lanes[LANES], const unsigned char *data) {
  for (int i = 0; i < LANES; i++) {
    uint64_t word;
    memcpy(&word, data + i * 8, sizeof(word));
    lanes[i] = step(lanes[i], word);
  }
}

/* Only the last piece of a chunk may end within a block. */
static void add(uint64_t lanes[LANES], const unsigned char *data, uint64_t bytes) {
  uint64_t whole = bytes / BLOCK * BLOCK;
  for (uint64_t at = 0; at < whole; at += BLOCK) {
    add_block(lanes, data + at);
  }
  if (whole < bytes) {
    unsigned char last[BLOCK] = {0};
    memcpy(last, data + whole, bytes - whole);
    add_block(lanes, last);
  }
}

uint64_t oap_content_hash(const oap_shard *shard, const oap_slot *slot) {
  oap_hashed_key key = oap_slot_key(slot);
  uint64_t lanes[LANES];
  for (int i = 0; i < LANES; i++) {
    lanes[i] = oap_mix(key.words[i] + (uint64_t)i * MULTIPLIER);
  }
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    add(lanes, oap_shard_address(shard, piece.position), piece.bytes);
  }
  uint64_t sum = oap_mix(slot->bytes) ^ oap_mix(slot->note + MULTIPLIER);
  for (int i = 0; i < LANES; i++) {
    sum = oap_mix(sum ^ lanes[i]);
  }
  return sum == 0 ? 1 : sum;
}
