/*
 * Room: how a shard comes by a slot and extents for a new chunk, and gets them back.
 *
 * A chunk in one piece is worth most, so before several pieces are taken, room is made in one
 * place: the policy names a victim, and the hole it leaves is widened by evicting its neighbours,
 * as long as they are such that the policy would soon have named them too. The free space that
 * this leaves scattered is bounded: beyond it a chunk takes several pieces.
 *
 * Pinned chunks cut the rest into holes. Where it is not clear that their sizes suffice, some
 * extents are searched for runs that do before anything is evicted, and what lies in such runs goes
 * when the policy's victims have left too many holes.
 *
 * Everything here is called under the shard's lock.
 */
#ifndef OAP_ROOM_H
#define OAP_ROOM_H

#include "shard.h"

/* Takes a slot and extents of so many units, evicting as long as that is what it needs. Returns the
 * slot; 0 if pinned chunks leave no room, or so little that a short search has not found it. Then
 * nothing was evicted, or not much more than is wanted, when they were pinned meanwhile. */
uint32_t oap_room_take(oap_shard *shard, uint64_t units, uint32_t extents[OAP_MAX_PIECES],
                       uint32_t *pieces);

/* Takes a slot and extents that are free; 0: there is not so much, in so few pieces. Nothing is
 * evicted. */
uint32_t oap_room_take_free(oap_shard *shard, uint64_t units, uint32_t extents[OAP_MAX_PIECES],
                            uint32_t *pieces);

/* Evicts this chunk; false: it is in use. */
bool oap_room_evict(oap_shard *shard, uint32_t slot);

/* Gives back what a slot holds, and the slot. Its word says FREE already and no chain or queue
 * leads to it. Returns the largest of the free extents that its pieces are now part of; 0: all lay
 * above the limit. What memory is to go back to the system is added to *left; NULL: none is,
 * because the chunk lay below the limit or the pool is being resized. */
uint32_t oap_room_give(oap_shard *shard, uint32_t slot, oap_leftover *left);

#endif
