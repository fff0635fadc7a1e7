/* The frequency sketch: see policy.h. */
#include "policy.h"

#define ROWS 4
#define MOST 15
/* Fewer forget what is hot under a scan, more cling to what was. */
#define ADDITIONS_PER_KEY 30

static uint64_t *word_of(const oap_sketch *sketch, uint64_t hash, int row, unsigned *shift) {
  uint64_t h = oap_mix(hash + (uint64_t)row * UINT64_C(0x9e3779b97f4a7c15));
  *shift = (unsigned)(h >> 60) * 4;
  return &sketch->words[(uint32_t)h & sketch->mask];
}

unsigned oap_sketch_count(const oap_sketch *sketch, uint64_t hash) {
  unsigned least = MOST;
  for (int row = 0; row < ROWS; row++) {
    unsigned shift;
    unsigned counter = (unsigned)(*word_of(sketch, hash, row, &shift) >> shift) & MOST;
    least = counter < least ? counter : least;
  }
  return least;
}

static void halve(oap_sketch *sketch) {
  for (uint64_t i = 0; i <= sketch->mask; i++) {
    if (sketch->words[i] != 0) { /* untouched pages stay so */
      sketch->words[i] = (sketch->words[i] >> 1) & UINT64_C(0x7777777777777777);
    }
  }
  sketch->additions /= 2;
}

void oap_sketch_add(oap_sketch *sketch, uint64_t hash, unsigned asks, uint32_t keys) {
  for (; asks > 0; asks--) {
    for (int row = 0; row < ROWS; row++) {
      unsigned shift;
      uint64_t *word = word_of(sketch, hash, row, &shift);
      if ((*word >> shift & MOST) < MOST) {
        *word += UINT64_C(1) << shift;
      }
    }
    if (++sketch->additions >= ADDITIONS_PER_KEY * (uint64_t)keys + 64) {
      halve(sketch);
    }
  }
}
