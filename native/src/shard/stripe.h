/*
 * Stripes: the part of each arena that a shard has. The first bytes of each, as many in all of
 * them, are in use, up to the stripe's limit. What lies above goes back to the system when the
 * chunks there are gone.
 */
#ifndef OAP_STRIPE_H
#define OAP_STRIPE_H

#include "shard.h"

/* The stripe in which a position lies. */
const oap_range *oap_stripe_at(const oap_shard *shard, uint64_t position);

/* The arena in which a position lies. */
const struct oap_arena *oap_stripe_arena(const oap_shard *shard, uint64_t position);

/* The limit of that stripe, as a position. */
uint64_t oap_stripe_limit(const oap_shard *shard, uint64_t position);

/* What chunks that are gone have left above the limits, for the system to take back. */
typedef struct oap_leftover {
  uint32_t count;
  oap_range range[OAP_MAX_PIECES];
} oap_leftover;

/* Under the lock: adds those pages of an extent that is away which a chunk that lay from start to
 * end has touched. */
void oap_stripe_add_leftover(oap_shard *shard, oap_leftover *left, uint32_t away, uint64_t start,
                             uint64_t end);

/* Without the lock, which system calls are too slow for: gives that memory back. Called once for
 * each leftover that anything was added to; until then the pool is not resized. */
void oap_stripe_release_leftover(oap_shard *shard, const oap_leftover *left);

/* While the pool is resized, chunks that go give no memory back: it may be what the pool is growing
 * into. oap_stripe_release_all does it afterwards. Waits for threads that have begun to. */
void oap_stripe_set_resizing(oap_shard *shard, bool resizing);

/* Gives the memory above the limits back to the system, except where chunks still lie; it was in
 * use up to so many bytes of each stripe. No other thread may resize meanwhile. */
void oap_stripe_release_all(oap_shard *shard, uint64_t part);

#endif
