/*
 * What a process leaves in a shared shard when it is gone: its pins, and what it was loading.
 */
#ifndef OAP_SWEEP_H
#define OAP_SWEEP_H

#include "shard/shard.h"

/* Takes a member out of a shard that it is not in any more, or not yet: ends its pins, and frees
 * what nobody has pinned any more or will publish. False: the lock was not to be had, and another
 * try is needed. */
bool oap_shard_sweep(oap_shard *shard, uint32_t member);

/* Frees what this process could not for want of the lock, if there is anything; called now and
 * then.
 */
void oap_shard_sweep_leftovers(oap_shard *shard);

#endif
