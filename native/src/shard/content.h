/* The bytes of a slot's chunk: whether they can be read, and their hash. */
#ifndef OAP_CONTENT_H
#define OAP_CONTENT_H

#include "shard.h"

/* Hashes a chunk that is filled, as base/content_hash.h says. The caller has reserved or pinned it.
 * Never 0. */
uint64_t oap_content_hash(const oap_shard *shard, const oap_slot *slot);

/* Tells whether the system can read the bytes of a chunk, and brings them in where they lie in a
 * file. The caller has pinned it. True where the system does not tell. */
bool oap_content_is_readable(const oap_shard *shard, const oap_slot *slot);

#endif
