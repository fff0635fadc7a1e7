/*
 * A miniature: a shard without data. It runs the pool's own code on the pool's own tables, and so
 * knows which chunks a pool of its capacity would hold. For one thread.
 */
#ifndef OAP_MINIATURE_H
#define OAP_MINIATURE_H

#include "shard/shard.h"

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

/* Makes a miniature that continues another one: it takes over the chunks whose hash is wanted, as
 * far as they fit. 0 or -errno. */
int oap_miniature_open_from(const oap_miniature_options *options, oap_miniature *other,
                            bool (*is_wanted)(uint64_t hash, uint32_t argument), uint32_t argument,
                            oap_miniature **out);

/* NULL: nothing to close. */
void oap_miniature_close(oap_miniature *miniature);

/* Whether a chunk is held; counts as a use. */
bool oap_miniature_use(oap_miniature *miniature, const oap_hashed_key *key);

/* Whether a chunk more would displace another for want of a slot, where the pool has slots. */
bool oap_miniature_is_full(const oap_miniature *miniature);

/* Inserts a chunk that is not held, if the capacity allows it. If it displaces, other chunks leave
 * for it; else it enters only where there is room. */
void oap_miniature_insert(oap_miniature *miniature, const oap_hashed_key *key, uint64_t bytes,
                          bool displaces);

/* Replaces a chunk by one of this size, as if it were new; does nothing if it is held with that
 * size. */
void oap_miniature_replace(oap_miniature *miniature, const oap_hashed_key *key, uint64_t bytes);

#endif
