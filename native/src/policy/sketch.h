/*
 * The frequency sketch: how often keys were asked for lately, about. Each key has four counters of
 * four bits, of which the least counts; all are halved now and then (Einziger et al., TinyLFU,
 * 2017). Not thread-safe: the shard's lock guards it.
 */
#ifndef OAP_SKETCH_H
#define OAP_SKETCH_H

#include <stdint.h>

typedef struct oap_sketch {
  uint64_t *words;    /* sixteen counters each */
  uint64_t additions; /* since the last halving */
  uint32_t mask;
} oap_sketch;

/* The most that is counted of a key. */
#define OAP_SKETCH_MOST 15

/* Counts asks for a key; keys is how many the pool holds, which sets how fast counts fade. */
void oap_sketch_add(oap_sketch *sketch, uint64_t hash, unsigned asks, uint32_t keys);

/* Has a key counted as asked for so often at least, up to OAP_SKETCH_MOST. Others fade no faster.
 */
void oap_sketch_raise(oap_sketch *sketch, uint64_t hash, unsigned asks);

/* Asks for the key's counters before they are needed. No lock needed. */
void oap_sketch_prefetch(const oap_sketch *sketch, uint64_t hash);

/* How often a key was asked for lately, up to OAP_SKETCH_MOST. */
unsigned oap_sketch_count(const oap_sketch *sketch, uint64_t hash);

#endif
