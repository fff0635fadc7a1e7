/* The processes that share a pool: a thread looks for those that are gone. */
#ifndef OAP_MEMBERS_H
#define OAP_MEMBERS_H

#include "pool.h"

/* Begins to share a pool, once this process is in all its shards: starts that thread, and lets
 * others in. 0 or -errno; EIO: persistent memory has bad blocks that a part of it was moved away
 * from. */
int oap_members_begin(oap_pool *pool);

/* Ends the thread, if there is one. */
void oap_members_stop(oap_pool *pool);

#endif
