/*
 * The tables of a shard that processes share: all of them lie in the file, with the counts of each
 * one's pins. The file has room for the slots, extents and counts that are in use, and gets more as
 * they come, so that no write to them finds a full disk.
 */
#ifndef OAP_SHARD_SHARED_H
#define OAP_SHARD_SHARED_H

#include "shard_plan.h"

/* As oap_shard_open. The first process makes all anew but the slots and the sketch. */
int oap_shard_open_shared(oap_shard *shard, const oap_shard_options *options);

/* Gets the file room for more slots: for so many, where it has room for some. 0 or -errno. */
int oap_shard_make_room(oap_shard *shard, uint64_t ready, uint64_t slots);

#endif
