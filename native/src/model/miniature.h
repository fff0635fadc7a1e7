/*
 * A miniature: a shard of the pool whose data nobody has. All it does is done as in the pool, on
 * the same tables, so that it knows which chunks a pool of its capacity would hold. For one thread.
 */
#ifndef OAP_MINIATURE_H
#define OAP_MINIATURE_H

#include "pool/shard.h"

typedef struct oap_miniature {
  oap_shard shard;
  unsigned char *windows[]; /* addresses that are never used */
} oap_miniature;

/* What a miniature is like. */
typedef struct oap_miniature_options {
  uint64_t capacity;   /* bytes; rounded down to whole pages, of which it has one at least */
  uint32_t most_slots; /* however large the capacity is */
  const oap_policy *policy;
  unsigned char *nowhere; /* OAP_WINDOW_BYTES of addresses, for all miniatures the same */
} oap_miniature_options;

/* Makes an empty one. 0 or -errno. */
int oap_miniature_open(const oap_miniature_options *options, oap_miniature **out);

/* Makes one that goes on from where another is, with as much of its content as fits: of the chunks
 * those whose hash is wanted. 0 or -errno. */
int oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                            bool (*is_wanted)(uint64_t hash, uint32_t argument), uint32_t argument,
                            oap_miniature **out);

/* NULL: nothing to close. */
void oap_miniature_close(oap_miniature *miniature);

/* Whether a chunk is held; counts as a use. */
bool oap_miniature_use(oap_miniature *miniature, const oap_hashed_key *key);

/* Whether a chunk more would displace another for want of a slot, where the pool has slots. */
bool oap_miniature_is_full(const oap_miniature *miniature);

/* Takes in a chunk that is not held, as far as the capacity allows it; others leave for it, or, if
 * it displaces none, it stays away. */
void oap_miniature_insert(oap_miniature *miniature, const oap_hashed_key *key, uint64_t bytes,
                          bool displaces);

/* Makes a chunk a newcomer of this size, unless it is held and has it. */
void oap_miniature_replace(oap_miniature *miniature, const oap_hashed_key *key, uint64_t bytes);

#endif
