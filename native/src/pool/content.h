/*
 * The content hash: whether a chunk still is what it was when it was published. 64 bits over the
 * bytes, the key and the note, by four lanes that each take a word of 32 bytes at a time, as xxHash
 * does (Collet, 2012). It finds faults of media and torn writes, not forgeries.
 */
#ifndef OAP_CONTENT_H
#define OAP_CONTENT_H

#include "shard.h"

/* Hashes a chunk that is filled. The caller has reserved or pinned it. Never 0. */
uint64_t oap_content_hash(const oap_shard *shard, const oap_slot *slot);

#endif
