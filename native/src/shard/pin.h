/*
 * Pins, and what else is done with a chunk that somebody has. slot.h and holders.h say how a pin is
 * taken. Functions that are named as in oap_pool.h behave as those, for keys of this shard.
 */
#ifndef OAP_PIN_H
#define OAP_PIN_H

#include "stripe.h"

int oap_shard_note(oap_shard *shard, const oap_chunk *chunk, uint64_t *note);
int oap_shard_is_readable(oap_shard *shard, const oap_chunk *chunk);
int oap_shard_pin(oap_shard *shard, const oap_hashed_key *key, bool is_use, oap_chunk *out);
int oap_shard_unpin(oap_shard *shard, const oap_chunk *chunk);
bool oap_shard_is_held(oap_shard *shard, const oap_hashed_key *key);
int oap_shard_await(oap_shard *shard, const oap_hashed_key *key, unsigned milliseconds);

/* Writes what a caller needs of a chunk, whose slot has this word. */
void oap_pin_describe(const oap_shard *shard, uint32_t number, uint64_t word, oap_chunk *out);

/* The slot a chunk names, if it still is what the chunk says; *word gets its word. */
oap_slot *oap_pin_slot(oap_shard *shard, const oap_chunk *chunk, uint64_t *word);

/* Counts a chunk that this process has now, or has no more. */
void oap_pin_count(oap_shard *shard, uint64_t bytes);
void oap_pin_uncount(oap_shard *shard, uint64_t bytes);

/* Frees what a slot holds whose word says FREE, unlocks the shard, and gives to the system what is
 * left over. */
void oap_pin_free_and_unlock(oap_shard *shard, uint32_t number);

#endif
