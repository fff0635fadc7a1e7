/*
 * Room: how a shard gets a slot and extents for a new chunk, and frees them.
 *
 * A chunk in one piece is worth most. So before a chunk is cut into pieces, room is made in one
 * place: the policy names a victim, and the hole it leaves is widened by evicting its neighbours,
 * as long as the policy would soon have named them too. Free space that this leaves scattered is
 * bounded: beyond the bound a chunk is cut into pieces.
 *
 * Pinned chunks cut the rest into holes. Where it is not clear that these are large enough, a short
 * search looks for runs of extents that are, before anything is evicted. When the policy's victims
 * have left too many holes, what lies in such runs is evicted.
 *
 * Everything here is called under the shard's lock.
 */
#ifndef OAP_ROOM_H
#define OAP_ROOM_H

#include "stripe.h"

/* Allocates a slot and extents of so many units, evicting what leaves for a chunk that is asked for
 * so often (see oap_order_evict; 0: nothing) as long as it must. Returns the slot; 0: there is not
 * so much room in so few pieces that is free or, if it may evict, that pinned chunks and those that
 * are asked for more leave and a short search finds. Then nothing was evicted, or not much more
 * than is wanted, when chunks were pinned meanwhile, or when what may leave was less than that. */
uint32_t oap_room_allocate(oap_shard *shard, uint64_t units, unsigned asks,
                           uint32_t extents[OAP_MAX_PIECES], uint32_t *pieces);

/* Unpoisons memory that was nobody's and is somebody's now: see poison.h. Does nothing where other
 * processes have their parts in it, since they poison nothing here. */
void oap_room_unpoison(const oap_shard *shard, uint64_t position, uint64_t bytes);

/* Evicts this chunk; false: it is in use. */
bool oap_room_evict(oap_shard *shard, uint32_t slot);

/* Drops a slot that is published or loading: its room is freed now, or with its last pin. */
void oap_room_drop(oap_shard *shard, uint32_t slot);

/* Frees what a slot holds, and the slot. Its word says FREE already and no chain or queue leads to
 * it. Returns the largest of the free extents that its pieces are now part of; 0: all lay above the
 * limit. Memory that is to go back to the system is added to *left. None is if left is NULL, if the
 * chunk lay below the limit or if the pool is being resized. */
uint32_t oap_room_free(oap_shard *shard, uint32_t slot, oap_leftover *left);

#endif
