/* Chunks in memory of a test's own, for a tier without a pool, and a tier of small segments. */
#ifndef OAP_TIER_CHUNK_H
#define OAP_TIER_CHUNK_H

#include "check.h"
#include "tier/tier.h"

#define TIER_BLOCKS 16
#define TIER_SEGMENT (TIER_BLOCKS * OAP_TIER_BLOCK)

/* A chunk of so many bytes in one to three pieces, as the state says; the memory is the caller's to
 * free. */
static inline void *tier_chunk_make(uint64_t *random, uint64_t bytes, oap_chunk *out) {
  uint64_t room = (bytes + OAP_ALIGNMENT - 1) / OAP_ALIGNMENT * OAP_ALIGNMENT;
  unsigned char *memory = aligned_alloc(OAP_ALIGNMENT, room);
  CHECK(memory != NULL);
  memset(memory, 0xee, room);
  *out = (oap_chunk){.bytes = bytes};
  uint64_t done = 0;
  while (done < bytes) {
    uint64_t part = bytes - done;
    if (out->pieces < 2 && part > OAP_ALIGNMENT) {
      part = (1 + random_below(random, part / OAP_ALIGNMENT)) * OAP_ALIGNMENT;
    }
    out->piece[out->pieces++] = (oap_piece){.data = memory + done, .position = done, .bytes = part};
    done += part;
  }
  return memory;
}

/* Opens a tier of so many small segments. */
static inline oap_tier *tier_open(uint64_t segments, const char *path) {
  oap_tier_options options = {
      .path = path, .capacity = segments * TIER_SEGMENT, .segment = TIER_SEGMENT};
  oap_tier *tier;
  CHECK(oap_tier_open(&options, &tier) == 0);
  return tier;
}

static inline oap_tier_stats tier_stats(oap_tier *tier) {
  oap_tier_stats stats;
  oap_tier_stats_of(tier, &stats);
  return stats;
}

#define CHECK_TIER(tier) CHECK_NO_FAULT(oap_tier_validate(tier))

#endif
