/* The content hash: see content_hash.h. */
#include "content_hash.h"

#include "arithmetic.h"

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

void oap_content_begin(oap_content *content, const uint64_t key[4]) {
  for (int i = 0; i < LANES; i++) {
    content->lanes[i] = oap_mix(key[i] + (uint64_t)i * MULTIPLIER);
  }
}

void oap_content_add(oap_content *content, const unsigned char *data, uint64_t bytes) {
  uint64_t whole = bytes / BLOCK * BLOCK;
  for (uint64_t at = 0; at < whole; at += BLOCK) {
    add_block(content->lanes, data + at);
  }
  if (whole < bytes) {
    unsigned char last[BLOCK] = {0};
    memcpy(last, data + whole, bytes - whole);
    add_block(content->lanes, last);
  }
}

uint64_t oap_content_end(const oap_content *content, uint64_t bytes, uint64_t note) {
  uint64_t sum = oap_mix(bytes) ^ oap_mix(note + MULTIPLIER);
  for (int i = 0; i < LANES; i++) {
    sum = oap_mix(sum ^ content->lanes[i]);
  }
  return sum == 0 ? 1 : sum;
}
