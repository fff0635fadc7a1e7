/* Pins: see pin.h. */
#include "pin.h"

#include "base/clock.h"
#include "content.h"
#include "room.h"

#include <errno.h>
#include <unistd.h>

void oap_pin_count(oap_shard *shard, uint64_t bytes) {
  oap_count(&oap_shard_counters(shard)->pinned, OAP_PINNED(bytes));
}

void oap_pin_uncount(oap_shard *shard, uint64_t bytes) {
  oap_count(&oap_shard_counters(shard)->pinned, -OAP_PINNED(bytes));
}

void oap_pin_describe(const oap_shard *shard, uint32_t number, uint64_t word, oap_chunk *out) {
  const oap_slot *slot = &shard->slots[number];
  out->bytes = slot->bytes;
  out->slot = number;
  out->generation = oap_word_generation(word);
  out->pieces = oap_slot_pieces(slot);
  out->shard = shard->number;
  for (uint32_t i = 0; i < out->pieces; i++) {
    out->piece[i] = oap_slot_piece(slot, i);
    out->piece[i].data = oap_shard_address(shard, out->piece[i].position);
  }
}

oap_slot *oap_pin_slot(oap_shard *shard, const oap_chunk *chunk, uint64_t *word) {
  if (chunk->slot == 0 || chunk->slot > shard->slot_room) {
    return NULL;
  }
  oap_slot *slot = &shard->slots[chunk->slot];
  *word = atomic_load_explicit(&slot->word, memory_order_acquire);
  return oap_word_generation(*word) == chunk->generation ? slot : NULL;
}

void oap_pin_free_and_unlock(oap_shard *shard, uint32_t number) {
  oap_leftover left = {.count = 0};
  oap_room_free(shard, number, &left);
  oap_shard_unlock(shard);
  if (left.count > 0) {
    oap_stripe_release_leftover(shard, &left);
  }
}

int oap_shard_note(oap_shard *shard, const oap_chunk *chunk, uint64_t *note) {
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  if (slot == NULL || oap_pins(&shard->holders, chunk->slot, word) == 0) {
    return -EINVAL;
  }
  *note = slot->note;
  return 0;
}

int oap_shard_is_readable(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  if (slot == NULL || oap_pins(&shard->holders, chunk->slot, word) == 0) {
    return -EINVAL;
  }
  return oap_content_is_readable(shard, slot) ? 0 : -EIO;
}

/* Hashes an unverified chunk that is pinned, so that later pins need not. A wrong one, or one that
 * the disk does not give, is dropped, and false. Threads that come at the same time each do it. */
static bool verify(oap_shard *shard, uint32_t number, uint64_t before, bool is_first) {
  oap_slot *slot = &shard->slots[number];
  if (oap_content_is_readable(shard, slot) && oap_content_hash(shard, slot) == slot->content) {
    atomic_fetch_and_explicit(&slot->word, ~OAP_UNVERIFIED, memory_order_relaxed);
    return true;
  }
  if (oap_shard_lock(shard)) {
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    if (oap_word_state(word) == OAP_PUBLISHED) { /* of this generation, since it is pinned */
      oap_room_drop(shard, number);
      shard->counted.damaged++;
    }
    oap_shard_unlock(shard);
  }
  if (is_first) {
    oap_pin_count(shard, slot->bytes);
  }
  oap_chunk chunk;
  oap_pin_describe(shard, number, before, &chunk);
  oap_shard_unpin(shard, &chunk);
  return false;
}

/* Frees a chunk that was dropped, if nobody has pins on it any more and nobody else has freed it.
 * Where the lock cannot be had, the next sweep does. */
static void free_dropped(oap_shard *shard, uint32_t number) {
  if (!oap_shard_lock(shard)) {
    atomic_store(&shard->has_leftovers, true);
    return;
  }
  oap_slot *slot = &shard->slots[number];
  uint64_t word = atomic_load(&slot->word);
  if (oap_word_state(word) == OAP_DROPPED && oap_is_unpinned(&shard->holders, number, word)) {
    atomic_store_explicit(&slot->word, oap_word_freed(word), memory_order_release);
    oap_pin_free_and_unlock(shard, number);
  } else {
    oap_shard_unlock(shard);
  }
}

/* Ends one of this process's pins, where others have theirs. True: it was the last of them. */
static bool unpin_among_others(oap_shard *shard, uint32_t number) {
  uint32_t before = atomic_fetch_sub(oap_own_pins(&shard->holders, number), 1);
  /* Whoever drops it looks at the pins after that, so either of the two sees the other. */
  uint64_t word = atomic_load(&shard->slots[number].word);
  enum oap_state state = oap_word_state(word);
  if (state == OAP_DROPPED) {
    free_dropped(shard, number);
  } else if ((state == OAP_LOADING || state == OAP_DOOMED) &&
             oap_is_unpinned(&shard->holders, number, word)) {
    atomic_store(&shard->has_leftovers, true); /* of a loader that is gone */
  }
  return before == 1;
}

/* Ends a pin that was taken on a chunk that is not there. A chunk of this process is counted with
 * the first pin on its slot, and no more with the last, and this may be one of both. Its bytes are
 * about right, where the slot has had two chunks meanwhile. */
static void take_back(oap_shard *shard, uint32_t number, bool is_first) {
  const oap_slot *slot = &shard->slots[number];
  uint64_t bytes = is_first ? 0 : slot->bytes; /* what another thread has pinned stays till here */
  bool is_last = unpin_among_others(shard, number);
  if (is_first && !is_last) {
    oap_pin_count(shard, slot->bytes); /* which another thread has pinned meanwhile */
  } else if (!is_first && is_last) {
    oap_pin_uncount(shard, bytes);
  }
}

/* Whether a slot that this process has just counted a pin on is what it was. Another process that
 * has claimed it decides soon, unless it was killed. */
static bool is_still_there(const oap_slot *slot, uint64_t *word) {
  enum { MOST_LOOKS = 1000 };
  uint32_t generation = oap_word_generation(*word);
  for (int looks = 0; looks < MOST_LOOKS; looks++) {
    *word = atomic_load(&slot->word);
    if (oap_word_generation(*word) != generation || oap_word_state(*word) != OAP_CLAIMED) {
      return oap_word_generation(*word) == generation && oap_word_state(*word) == OAP_PUBLISHED;
    }
  }
  return false;
}

/* Takes a pin where other processes have theirs; see holders.h. */
static uint32_t pin_among_others(oap_shard *shard, const oap_hashed_key *key, bool is_use,
                                 uint64_t *word, bool *is_first) {
  enum { MOST_TRIALS = 8 };
  for (int trials = 0; trials < MOST_TRIALS; trials++) {
    uint32_t number = oap_index_find(&shard->index, key, word);
    if (number == 0 || oap_word_state(*word) == OAP_LOADING) {
      return 0;
    }
    oap_slot *slot = &shard->slots[number];
    *is_first = atomic_fetch_add(oap_own_pins(&shard->holders, number), 1) == 0;
    bool is_leaving = atomic_load(&shard->retired);
    if (!is_leaving && is_still_there(slot, word)) {
      uint64_t used = *word + (UINT64_C(1) << OAP_USES_SHIFT);
      uint64_t now = *word;
      if (is_use && oap_word_uses(now) < OAP_MAX_USES) { /* lost where another process is ahead */
        atomic_compare_exchange_strong(&slot->word, &now, used);
      }
      return number;
    }
    take_back(shard, number, *is_first);
    if (is_leaving) {
      return 0;
    }
  }
  return 0;
}

int oap_shard_pin(oap_shard *shard, const oap_hashed_key *key, bool is_use, oap_chunk *out) {
  uint64_t before;
  bool is_first = false;
  uint32_t number;
  if (shard->commons == NULL) {
    number = oap_index_pin(&shard->index, key, is_use, &before);
    is_first = number != 0 && oap_word_pins(before) == 0;
  } else {
    number = pin_among_others(shard, key, is_use, &before, &is_first);
  }
  if (number != 0 && (before & OAP_UNVERIFIED) != 0 && !verify(shard, number, before, is_first)) {
    number = 0;
  }
  oap_counters *counters = oap_shard_counters(shard);
  if (is_use) {
    oap_count(number == 0 ? &counters->misses : &counters->hits, 1);
  }
  if (number == 0) {
    return -ENOENT;
  }
  if (is_use && shard->order.policy->used != NULL) {
    shard->order.policy->used(&shard->order, number);
  }
  if (is_first) {
    oap_pin_count(shard, shard->slots[number].bytes);
  }
  oap_pin_describe(shard, number, before, out);
  return 0;
}

int oap_shard_unpin(oap_shard *shard, const oap_chunk *chunk) {
  uint64_t word;
  oap_slot *slot = oap_pin_slot(shard, chunk, &word);
  if (slot == NULL || oap_pins(&shard->holders, chunk->slot, word) == 0) {
    return -EINVAL;
  }
  if (shard->commons != NULL) {
    if (unpin_among_others(shard, chunk->slot)) {
      oap_pin_uncount(shard, chunk->bytes);
    }
    return 0;
  }
  uint64_t before = atomic_fetch_sub_explicit(&slot->word, 1, memory_order_acq_rel);
  if (oap_word_pins(before) > 1) {
    return 0;
  }
  oap_pin_uncount(shard, chunk->bytes);
  if (oap_word_state(before) == OAP_DROPPED) {
    free_dropped(shard, chunk->slot);
  }
  return 0;
}

bool oap_shard_is_held(oap_shard *shard, const oap_hashed_key *key) {
  uint64_t word;
  return oap_index_find(&shard->index, key, &word) != 0 && oap_word_state(word) == OAP_PUBLISHED;
}

int oap_shard_await(oap_shard *shard, const oap_hashed_key *key, unsigned milliseconds) {
  enum { LEAST_PAUSE_US = 50, MOST_PAUSE_US = 2000 };
  useconds_t pause = LEAST_PAUSE_US;
  uint64_t word;
  for (uint64_t end = oap_milliseconds() + milliseconds;
       oap_index_find(&shard->index, key, &word) != 0 && oap_word_state(word) == OAP_LOADING;) {
    if (oap_milliseconds() >= end) {
      return -ETIMEDOUT;
    }
    usleep(pause);
    pause = pause < MOST_PAUSE_US ? 2 * pause : pause;
  }
  return 0;
}
