/* The index: see index.h. */
#include "index.h"

/* The link of a slot that has none yet. */
#define NO_LINK UINT32_MAX

/* The head of the chain that a file's slots stand in. */
static uint32_t *file_head_of(const oap_index *index, uint64_t high, uint64_t low) {
  return &index->file_heads[oap_file_hash(high, low) & index->file_mask];
}

static uint32_t *file_head_of_slot(const oap_index *index, uint32_t slot) {
  oap_hashed_key key = oap_slot_key(&index->slots[slot]);
  return file_head_of(index, key.words[0], key.words[1]);
}

static bool key_equals(const oap_slot *slot, const uint64_t key[4]) {
  /* Acquire: whoever sees a new key word also sees the new generation, and fails to pin. */
  for (int i = 0; i < 4; i++) {
    if (atomic_load_explicit(&slot->key[i], memory_order_acquire) != key[i]) {
      return false;
    }
  }
  return true;
}

/* Moves from a slot to the next of its chain. False: the slot no longer belongs to this chain, so
 * where its link leads means nothing. */
static bool step(const oap_index *index, const oap_slot *slot, uint64_t word, uint32_t bucket,
                 uint32_t *number) {
  *number = atomic_load_explicit(&slot->next, memory_order_acquire);
  if (*number == NO_LINK) {
    return false;
  }
  uint32_t hash = atomic_load_explicit(&slot->hash, memory_order_acquire);
  uint64_t now = atomic_load_explicit(&slot->word, memory_order_acquire);
  return (hash & index->mask) == bucket && oap_word_generation(now) == oap_word_generation(word);
}

static uint64_t pinned_once_more(uint64_t word, bool is_use) {
  return is_use && oap_word_uses(word) < OAP_MAX_USES ? word + 1 + (UINT64_C(1) << OAP_USES_SHIFT)
                                                      : word + 1;
}

uint32_t oap_index_pin(const oap_index *index, const oap_hashed_key *key, bool is_use,
                       uint64_t *before) {
  uint32_t bucket = (uint32_t)key->hash & index->mask;
restart:;
  uint32_t number = atomic_load_explicit(&index->heads[bucket], memory_order_acquire);
  while (number != 0) {
    oap_slot *slot = &index->slots[number];
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    uint32_t generation = oap_word_generation(word);
    if (key_equals(slot, key->words)) {
      while (oap_word_state(word) == OAP_PUBLISHED && oap_word_generation(word) == generation &&
             oap_word_pins(word) < OAP_PINS_MASK) {
        if (atomic_compare_exchange_weak_explicit(&slot->word, &word,
                                                  pinned_once_more(word, is_use),
                                                  memory_order_acq_rel, memory_order_acquire)) {
          *before = word;
          return number;
        }
      }
    }
    if (!step(index, slot, word, bucket, &number) || oap_word_generation(word) != generation) {
      goto restart;
    }
  }
  return 0;
}

/* Whether a slot in that state stands for its key: it is there, will be, or may stay there. */
static bool is_visible(enum oap_state state) {
  return state == OAP_PUBLISHED || state == OAP_LOADING || state == OAP_CLAIMED;
}

uint32_t oap_index_find(const oap_index *index, const oap_hashed_key *key, uint64_t *word) {
  uint32_t bucket = (uint32_t)key->hash & index->mask;
  uint32_t starts = 0;
restart:;
  uint32_t number = atomic_load_explicit(&index->heads[bucket], memory_order_acquire);
  if (starts++ == index->most_starts) {
    return 0;
  }
  while (number != 0) {
    const oap_slot *slot = &index->slots[number];
    *word = atomic_load_explicit(&slot->word, memory_order_acquire);
    uint32_t found = number;
    bool equal = is_visible(oap_word_state(*word)) && key_equals(slot, key->words);
    if (!step(index, slot, *word, bucket, &number)) {
      goto restart;
    }
    if (equal) {
      return found;
    }
  }
  return 0;
}

uint32_t oap_index_find_other(const oap_index *index, const oap_hashed_key *key) {
  uint32_t number =
      atomic_load_explicit(&index->heads[(uint32_t)key->hash & index->mask], memory_order_relaxed);
  while (number != 0) {
    const oap_slot *slot = &index->slots[number];
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    if (oap_word_state(word) == OAP_PUBLISHED) {
      const uint64_t other[4] = {key->words[0], key->words[1], key->words[2],
                                 atomic_load_explicit(&slot->key[3], memory_order_relaxed)};
      if (key_equals(slot, other)) {
        return number;
      }
    }
    number = atomic_load_explicit(&slot->next, memory_order_relaxed);
  }
  return 0;
}

void oap_index_prefetch(const oap_index *index, const oap_hashed_key *key) {
  __builtin_prefetch((const void *)&index->heads[(uint32_t)key->hash & index->mask]);
  __builtin_prefetch(file_head_of(index, key->words[0], key->words[1]));
}

void oap_index_prepare(oap_index *index, uint32_t number) {
  /* The word's release comes after it: who sees the new word cannot see the old link. */
  atomic_store_explicit(&index->slots[number].next, NO_LINK, memory_order_relaxed);
}

void oap_index_insert(oap_index *index, uint32_t number, const oap_hashed_key *key) {
  oap_slot *slot = &index->slots[number];
  uint32_t bucket = (uint32_t)key->hash & index->mask;
  /* The order matters to readers on stale links: word (by the caller), key, hash, next. */
  for (int i = 0; i < 4; i++) {
    atomic_store_explicit(&slot->key[i], key->words[i], memory_order_release);
  }
  atomic_store_explicit(&slot->hash, (uint32_t)key->hash, memory_order_release);
  uint32_t head = atomic_load_explicit(&index->heads[bucket], memory_order_relaxed);
  atomic_store_explicit(&slot->next, head, memory_order_release);
  atomic_store_explicit(&index->heads[bucket], number, memory_order_release);

  uint32_t *file_head = file_head_of(index, key->words[0], key->words[1]);
  slot->file_previous = 0;
  slot->file_next = *file_head;
  if (*file_head != 0) {
    index->slots[*file_head].file_previous = number;
  }
  *file_head = number;
}

void oap_index_remove(oap_index *index, uint32_t number) {
  oap_slot *slot = &index->slots[number];
  uint32_t bucket = atomic_load_explicit(&slot->hash, memory_order_relaxed) & index->mask;
  _Atomic uint32_t *link = &index->heads[bucket];
  uint32_t at = atomic_load_explicit(link, memory_order_relaxed);
  while (at != number) {
    link = &index->slots[at].next;
    at = atomic_load_explicit(link, memory_order_relaxed);
  }
  atomic_store_explicit(link, atomic_load_explicit(&slot->next, memory_order_relaxed),
                        memory_order_release);

  if (slot->file_next != 0) {
    index->slots[slot->file_next].file_previous = slot->file_previous;
  }
  if (slot->file_previous != 0) {
    index->slots[slot->file_previous].file_next = slot->file_next;
  } else {
    *file_head_of_slot(index, number) = slot->file_next;
  }
}

uint32_t oap_index_file(const oap_index *index, uint64_t high, uint64_t low) {
  return *file_head_of(index, high, low);
}

static const char *validate_files(const oap_index *index, uint32_t top, uint32_t expected) {
  uint32_t count = 0;
  for (uint64_t bucket = 0; bucket <= index->file_mask; bucket++) {
    uint32_t previous = 0;
    for (uint32_t i = index->file_heads[bucket]; i != 0; i = index->slots[i].file_next) {
      const oap_slot *slot = &index->slots[i];
      if (i > top || file_head_of_slot(index, i) != &index->file_heads[bucket] ||
          slot->file_previous != previous || ++count > expected) {
        return "index: file chain broken";
      }
      previous = i;
    }
  }
  return count == expected ? NULL : "index: slot in no file chain";
}

const char *oap_index_validate(const oap_index *index, uint32_t top, uint32_t *count) {
  *count = 0;
  for (uint64_t bucket = 0; bucket <= index->mask; bucket++) {
    for (uint32_t i = index->heads[bucket]; i != 0; i = index->slots[i].next) {
      const oap_slot *slot = &index->slots[i];
      enum oap_state state = oap_word_state(slot->word);
      if (i > top || (slot->hash & index->mask) != bucket ||
          slot->hash != (uint32_t)oap_slot_key(slot).hash || ++*count > top) {
        return "index: chain broken";
      }
      if (state != OAP_PUBLISHED && state != OAP_LOADING) {
        return "index: leads to a slot that holds nothing";
      }
    }
  }
  return validate_files(index, top, *count);
}
