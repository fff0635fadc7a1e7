/* The content hash of a slot's chunk. */
#ifndef OAP_CONTENT_H
#define OAP_CONTENT_H

#include "shard.h"

/* Hashes a chunk that is filled, as base/content_hash.h says. The caller has reserved or pinned it.
 * Never 0. */
uint64_t oap_content_hash(const oap_shard *shard, const oap_slot *slot);

#endif
