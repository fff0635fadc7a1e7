/* The frequency sketch: see sketch.h. */
#include "sketch.h"

#include "base/arithmetic.h"

#define ROWS 4
/* Fewer forget what is hot under a scan, more cling to what was. */
#define ADDITIONS_PER_KEY 30

/* The counters of a key lie in one block, a cache line of eight words: two of them for each row. */
#define BLOCK_WORDS 8

static uint64_t *block_of(const oap_sketch *sketch, uint64_t hash) {
  return &sketch->words[(uint32_t)hash & sketch->mask & ~(uint32_t)(BLOCK_WORDS - 1)];
}

/* Five bits of the hash for each row, above those that chose the block: the word and the counter.
 */
static uint64_t *word_of(uint64_t *block, uint64_t hash, int row, unsigned *shift) {
  uint64_t bits = hash >> (40 + 5 * row);
  *shift = (unsigned)(bits & 15) * 4;
  return &block[2 * row + (int)(bits >> 4 & 1)];
}

void oap_sketch_prefetch(const oap_sketch *sketch, uint64_t hash) {
  __builtin_prefetch(block_of(sketch, oap_mix(hash)), 1);
}

unsigned oap_sketch_count(const oap_sketch *sketch, uint64_t hash) {
  uint64_t mixed = oap_mix(hash);
  uint64_t *block = block_of(sketch, mixed);
  unsigned least = OAP_SKETCH_MOST;
  for (int row = 0; row < ROWS; row++) {
    unsigned shift;
    const uint64_t *word = word_of(block, mixed, row, &shift);
    unsigned counter = (unsigned)(*word >> shift) & OAP_SKETCH_MOST;
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
  uint64_t mixed = oap_mix(hash);
  uint64_t *block = block_of(sketch, mixed);
  for (; asks > 0; asks--) {
    for (int row = 0; row < ROWS; row++) {
      unsigned shift;
      uint64_t *word = word_of(block, mixed, row, &shift);
      if ((*word >> shift & OAP_SKETCH_MOST) < OAP_SKETCH_MOST) {
        *word += UINT64_C(1) << shift;
      }
    }
    if (++sketch->additions >= ADDITIONS_PER_KEY * (uint64_t)keys + 64) {
      halve(sketch);
    }
  }
}

void oap_sketch_raise(oap_sketch *sketch, uint64_t hash, unsigned asks) {
  uint64_t mixed = oap_mix(hash);
  uint64_t *block = block_of(sketch, mixed);
  uint64_t least = asks < OAP_SKETCH_MOST ? asks : OAP_SKETCH_MOST;
  for (int row = 0; row < ROWS; row++) {
    unsigned shift;
    uint64_t *word = word_of(block, mixed, row, &shift);
    uint64_t counter = *word >> shift & OAP_SKETCH_MOST;
    *word += counter < least ? (least - counter) << shift : 0;
  }
}
