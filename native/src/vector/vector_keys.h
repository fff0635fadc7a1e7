/* The insides of a prepared key set: see vector_keys.c. */
#ifndef OAP_VECTOR_KEYS_H
#define OAP_VECTOR_KEYS_H

#include "oap_vector.h"
#include "vector_kernels.h"

enum vector_form { VECTOR_RANGE, VECTOR_BITMAP, VECTOR_HASH };

struct oap_key_set {
  enum vector_form form;
  uint64_t size;
  int64_t minimum;
  int64_t maximum;
  int64_t *sorted;  /* without duplicates */
  uint32_t *bitmap; /* bit key - minimum */
  int64_t *table;   /* open addressing; vacant where there is none */
  int64_t vacant;   /* no key */
  unsigned shift;   /* 64 - log2 of the table's length */
  uint32_t *sieve;  /* a bit per hash that a key has: most values that are no key end here */
  unsigned sieve_shift;
};

/* How many keys are below a value. */
uint64_t vector_keys_below(const oap_key_set *set, int64_t value);

static inline bool vector_table_has(const oap_key_set *set, int64_t key) {
  uint64_t mask = UINT64_MAX >> set->shift;
  uint64_t at = (uint64_t)key * VECTOR_HASH_FACTOR >> set->shift;
  /* Vacant first: it is no key, but may be the value asked about. */
  while (set->table[at] != set->vacant) {
    if (set->table[at] == key) {
      return true;
    }
    at = (at + 1) & mask;
  }
  return false;
}

#endif
