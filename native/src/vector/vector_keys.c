/*
 * Prepared sets of integers: the keys, sorted, for the minima and maxima of zones; and for rows
 * nothing more where they have no gaps, a bitmap where that fits into a near cache or is smaller
 * than a table, else a hash table that is at most half full (multiplicative hashing, Knuth, The Art
 * of Computer Programming 3, 6.4) behind a sieve of bits that vector instructions can look into.
 */
#include "vector_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_SPAN (UINT64_C(1) << 20) /* a bitmap of 128 KiB */
#define BITS_PER_KEY 128               /* what a table may take */
#define MOST_SPAN (UINT64_C(1) << 31)
#define SIEVE_BITS_PER_KEY 32
#define LEAST_SIEVE 12 /* log2 of its bits */
#define MOST_SIEVE 31

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int build_bitmap(oap_key_set *set, uint64_t span) {
  set->form = VECTOR_BITMAP;
  set->bitmap = calloc(span / 32 + 1, sizeof(*set->bitmap));
  if (set->bitmap == NULL) {
    return -ENOMEM;
  }
  for (uint64_t i = 0; i < set->size; i++) {
    uint64_t bit = (uint64_t)set->sorted[i] - (uint64_t)set->minimum;
    set->bitmap[bit / 32] |= UINT32_C(1) << bit % 32;
  }
  return 0;
}

/* A number that is no key; there is one, since not every 64-bit number fits into memory. */
static int64_t find_vacant(const oap_key_set *set) {
  uint64_t i = 0;
  int64_t candidate = INT64_MIN;
  while (i < set->size && set->sorted[i] == candidate) {
    i++;
    candidate++;
  }
  return candidate;
}

static int build_sieve(oap_key_set *set) {
  unsigned bits = LEAST_SIEVE;
  while ((UINT64_C(1) << bits) < set->size * SIEVE_BITS_PER_KEY && bits < MOST_SIEVE) {
    bits++;
  }
  set->sieve_shift = 64 - bits;
  set->sieve = calloc((UINT64_C(1) << bits) / 32, sizeof(*set->sieve));
  if (set->sieve == NULL) {
    return -ENOMEM;
  }
  for (uint64_t i = 0; i < set->size; i++) {
    uint64_t bit = (uint64_t)set->sorted[i] * VECTOR_HASH_FACTOR >> set->sieve_shift;
    set->sieve[bit / 32] |= UINT32_C(1) << bit % 32;
  }
  return 0;
}

static int build_table(oap_key_set *set) {
  unsigned bits = 1;
  while ((UINT64_C(1) << bits) < set->size * 2) {
    bits++;
  }
  uint64_t slots = UINT64_C(1) << bits;
  set->form = VECTOR_HASH;
  set->shift = 64 - bits;
  set->vacant = find_vacant(set);
  set->table = malloc(slots * sizeof(*set->table));
  if (set->table == NULL) {
    return -ENOMEM;
  }
  for (uint64_t i = 0; i < slots; i++) {
    set->table[i] = set->vacant;
  }
  for (uint64_t i = 0; i < set->size; i++) {
    uint64_t at = (uint64_t)set->sorted[i] * VECTOR_HASH_FACTOR >> set->shift;
    while (set->table[at] != set->vacant) {
      at = (at + 1) & (slots - 1);
    }
    set->table[at] = set->sorted[i];
  }
  return build_sieve(set);
}

static int build(oap_key_set *set, const int64_t *keys, uint64_t count) {
  if (count == 0) {
    return 0;
  }
  if (count > SIZE_MAX / 64) {
    return -ENOMEM;
  }
  set->sorted = malloc(count * sizeof(*keys));
  if (set->sorted == NULL) {
    return -ENOMEM;
  }
  memcpy(set->sorted, keys, count * sizeof(*keys));
  qsort(set->sorted, count, sizeof(*keys), compare);
  for (uint64_t i = 0; i < count; i++) {
    if (i == 0 || set->sorted[i] != set->sorted[set->size - 1]) {
      set->sorted[set->size++] = set->sorted[i];
    }
  }
  set->minimum = set->sorted[0];
  set->maximum = set->sorted[set->size - 1];
  uint64_t span = (uint64_t)set->maximum - (uint64_t)set->minimum;
  if (span == set->size - 1) {
    return 0;
  }
  bool is_close = span < SMALL_SPAN || (span < MOST_SPAN && span / BITS_PER_KEY < set->size);
  return is_close ? build_bitmap(set, span) : build_table(set);
}

int oap_key_set_open(const int64_t *keys, uint64_t count, oap_key_set **out) {
  oap_key_set *set = calloc(1, sizeof(*set));
  if (set == NULL) {
    return -ENOMEM;
  }
  int result = build(set, keys, count);
  if (result != 0) {
    oap_key_set_close(set);
    return result;
  }
  *out = set;
  return 0;
}

void oap_key_set_close(oap_key_set *set) {
  if (set != NULL) {
    free(set->sorted);
    free(set->bitmap);
    free(set->table);
    free(set->sieve);
    free(set);
  }
}

uint64_t oap_key_set_size(const oap_key_set *set) { return set->size; }
int64_t oap_key_set_minimum(const oap_key_set *set) { return set->minimum; }
int64_t oap_key_set_maximum(const oap_key_set *set) { return set->maximum; }

uint64_t oap_key_set_memory(const oap_key_set *set) {
  uint64_t bytes = sizeof(*set) + set->size * sizeof(*set->sorted);
  if (set->form == VECTOR_BITMAP) {
    uint64_t span = (uint64_t)set->maximum - (uint64_t)set->minimum;
    bytes += (span / 32 + 1) * sizeof(*set->bitmap);
  } else if (set->form == VECTOR_HASH) {
    bytes += (UINT64_C(1) << (64 - set->shift)) * sizeof(*set->table);
    bytes += (UINT64_C(1) << (64 - set->sieve_shift)) / 8;
  }
  return bytes;
}

uint64_t vector_keys_below(const oap_key_set *set, int64_t value) {
  uint64_t low = 0, high = set->size;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (set->sorted[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool oap_key_set_meets(const oap_key_set *set, int64_t minimum, int64_t maximum) {
  uint64_t first = vector_keys_below(set, minimum);
  return minimum <= maximum && first < set->size && set->sorted[first] <= maximum;
}
