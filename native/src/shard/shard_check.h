/* The inner check of a shard, for tests. */
#ifndef OAP_SHARD_CHECK_H
#define OAP_SHARD_CHECK_H

#include "shard.h"

/* Checks slots, chains, queues, extents and counters against each other. NULL, or what is wrong (a
 * static string). No other thread may be in the shard. */
const char *oap_shard_validate(oap_shard *shard);

#endif
