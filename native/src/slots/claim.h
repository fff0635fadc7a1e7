/* Claims: how a chunk that nobody has pinned is taken out of sight, so that its room is free. */
#ifndef OAP_CLAIM_H
#define OAP_CLAIM_H

#include "holders.h"

/* Whether a chunk is published and has no pins, for now. */
bool oap_is_evictable(const oap_holders *holders, const oap_slot *slots, uint32_t slot);

/* Under the shard's lock: makes a published slot without pins free; false: it is no such slot. */
bool oap_claim(const oap_holders *holders, oap_slot *slots, uint32_t slot);

#endif
