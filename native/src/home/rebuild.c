/* Rebuilding: see rebuild.h. */
#include "rebuild.h"

#include "shard/room.h"
#include "shard/shard_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A piece of a chunk, on its way to an extent. */
typedef struct {
  uint64_t position;
  uint64_t bytes;
  uint32_t slot;
  uint32_t number; /* of the piece in its chunk */
} found_piece;

/* A slot, on its way to its queue. */
typedef struct {
  uint32_t queue;
  uint32_t slot;
  uint64_t stamp;
} queued_slot;

static uint64_t word_of(const oap_slot *slot) {
  return atomic_load_explicit(&slot->word, memory_order_relaxed);
}

static void set_word(oap_slot *slot, uint64_t word) {
  atomic_store_explicit(&slot->word, word, memory_order_relaxed);
}

/* Whether a slot keeps what it has. */
static bool is_accepted(const oap_slot *slot) { return oap_word_state(word_of(slot)) != OAP_FREE; }

/* Whether a chunk is found by its key, and stands in a queue. */
static bool is_visible(const oap_slot *slot) {
  enum oap_state state = oap_word_state(word_of(slot));
  return state == OAP_PUBLISHED || state == OAP_LOADING;
}

static void refuse(oap_slot *slot) { set_word(slot, oap_word_freed(word_of(slot))); }

/* Whether a piece lies in what the shard uses, and in one window. */
static bool fits(const oap_shard *shard, oap_piece piece) {
  if (piece.position % OAP_ALIGNMENT != 0 || piece.bytes == 0 || piece.bytes > shard->part ||
      piece.position / OAP_WINDOW_BYTES != (piece.position + piece.bytes - 1) / OAP_WINDOW_BYTES) {
    return false;
  }
  for (uint32_t i = 0; i < shard->stripe_count; i++) {
    uint64_t start = shard->stripes[i].position;
    if (piece.position >= start && piece.position - start <= shard->part - piece.bytes) {
      return true;
    }
  }
  return false;
}

/* Kinds whose keys mean the same to every process. */
static bool outlives_process(uint64_t representation) {
  uint64_t kind = representation >> OAP_KIND_SHIFT;
  return kind == OAP_ENCODED_CHUNK || kind == OAP_VECTOR_CHUNK;
}

/* Whether the pieces of a slot lie in the shard and add up to the chunk, and its key belongs here.
 */
static bool is_consistent(const oap_shard *shard, const oap_slot *slot) {
  uint32_t pieces = oap_slot_pieces(slot);
  if (pieces == 0 || pieces > OAP_MAX_PIECES) {
    return false;
  }
  uint64_t left = slot->bytes;
  for (uint32_t i = 0; i < pieces; i++) {
    oap_piece piece = oap_slot_piece(slot, i);
    bool is_last = i + 1 == pieces;
    if (!fits(shard, piece) || piece.bytes > left ||
        (!is_last && piece.bytes % OAP_ALIGNMENT != 0)) {
      return false;
    }
    left -= piece.bytes;
  }
  return left == 0 && oap_slot_key(slot).hash >> 1 >> shard->hash_shift == shard->number;
}

/* What a process that is gone has left. */
static bool is_believed(const oap_shard *shard, const oap_slot *slot) {
  return oap_word_state(word_of(slot)) == OAP_PUBLISHED && slot->content != 0 &&
         oap_slot_checksum(slot) == slot->checksum && is_consistent(shard, slot) &&
         outlives_process(oap_slot_key(slot).words[3]);
}

/* What others have, or go on with, while the shard is rebuilt. A chunk that is being published has
 * either checksum. One that is not published is somebody's, or nobody's any more. */
static bool is_in_order(const oap_shard *shard, uint32_t number) {
  const oap_slot *slot = &shard->slots[number];
  uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
  uint64_t sum = atomic_load_explicit(&slot->checksum, memory_order_acquire);
  bool is_right = oap_slot_checksum(slot) == sum || (oap_word_state(word) != OAP_PUBLISHED &&
                                                     oap_slot_checksum_unfilled(slot) == sum);
  bool is_somebodys =
      oap_word_state(word) == OAP_PUBLISHED || !oap_is_unpinned(&shard->holders, number, word);
  return is_right && is_somebodys && is_consistent(shard, slot);
}

/* A chunk whose claim was not decided stays. */
static void undo_claim(oap_slot *slot) {
  uint64_t word = atomic_load(&slot->word);
  if (oap_word_state(word) == OAP_CLAIMED) {
    atomic_store(&slot->word, oap_word_with_state(word, OAP_PUBLISHED));
  }
}

/* Frees the slots that are not to stay; returns how many pieces the others have. */
static uint64_t judge_slots(oap_shard *shard, uint32_t slots, bool is_in_use, oap_rebuilt *out) {
  uint64_t pieces = 0;
  for (uint32_t i = 1; i <= slots; i++) {
    oap_slot *slot = &shard->slots[i];
    undo_claim(slot);
    if (is_in_use ? is_in_order(shard, i) : is_believed(shard, slot)) {
      pieces += oap_slot_pieces(slot);
    } else if (oap_word_state(word_of(slot)) != OAP_FREE) {
      out->refused++;
      refuse(slot);
    }
  }
  return pieces;
}

static int by_position(const void *a, const void *b) {
  const found_piece *x = a;
  const found_piece *y = b;
  return x->position < y->position ? -1 : x->position > y->position;
}

static void list_pieces(const oap_shard *shard, uint32_t slots, found_piece *out) {
  for (uint32_t i = 1; i <= slots; i++) {
    const oap_slot *slot = &shard->slots[i];
    for (uint32_t p = 0; is_accepted(slot) && p < oap_slot_pieces(slot); p++) {
      oap_piece piece = oap_slot_piece(slot, p);
      *out++ = (found_piece){piece.position, piece.bytes, i, p};
    }
  }
}

static uint64_t end_of(const found_piece *piece) {
  return piece->position + oap_round_up(piece->bytes, OAP_ALIGNMENT);
}

/* Nothing tells which of two that overlap is right, so both go. */
static void refuse_overlapping(oap_shard *shard, const found_piece *pieces, uint64_t count,
                               oap_rebuilt *out) {
  const found_piece *furthest = NULL;
  for (uint64_t i = 0; i < count; i++) {
    if (furthest != NULL && pieces[i].position < end_of(furthest)) {
      oap_slot *both[] = {&shard->slots[pieces[i].slot], &shard->slots[furthest->slot]};
      for (int s = 0; s < 2; s++) {
        out->refused += is_accepted(both[s]);
        refuse(both[s]);
      }
    }
    furthest = furthest == NULL || end_of(&pieces[i]) > end_of(furthest) ? &pieces[i] : furthest;
  }
}

/* Takes the extents of the pieces, in the order of their positions; region by region, since that is
 * how these follow each other, too. */
static void take_extents(oap_shard *shard, const found_piece *pieces, uint64_t count) {
  uint32_t region = 0;
  uint32_t free = shard->regions[0]; /* the last extent of the region, while it is free */
  for (uint64_t i = 0; i < count; i++) {
    oap_slot *slot = &shard->slots[pieces[i].slot];
    slot->extent[pieces[i].number] = 0;
    if (!is_accepted(slot)) {
      continue;
    }
    while (free == 0 || pieces[i].position >= oap_extent_end(&shard->space.extents[free])) {
      free = shard->regions[++region];
    }
    uint64_t bytes = end_of(&pieces[i]) - pieces[i].position;
    slot->extent[pieces[i].number] =
        oap_space_take(&shard->space, &free, pieces[i].slot, pieces[i].position, bytes);
    oap_room_unpoison(shard, pieces[i].position, pieces[i].bytes);
  }
}

static bool has_extents(const oap_slot *slot) {
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    if (slot->extent[i] == 0) {
      return false;
    }
  }
  return true;
}

/* Frees what a slot got, for which there was not all it needs. */
static void give_back(oap_shard *shard, oap_slot *slot) {
  for (uint32_t i = 0; i < oap_slot_pieces(slot); i++) {
    uint32_t away;
    if (slot->extent[i] != 0) {
      uint64_t position = shard->space.extents[slot->extent[i]].position;
      oap_space_free(&shard->space, slot->extent[i], oap_stripe_limit(shard, position), &away);
    }
  }
  refuse(slot);
}

/* Makes a chunk visible, unless there is one of its key. */
static void enter(oap_shard *shard, uint32_t number, bool is_in_use, oap_rebuilt *out) {
  oap_slot *slot = &shard->slots[number];
  oap_hashed_key key = oap_slot_key(slot);
  uint64_t other;
  if (!has_extents(slot) || oap_index_find(&shard->index, &key, &other) != 0) {
    give_back(shard, slot);
    out->refused++;
    return;
  }
  oap_index_insert(&shard->index, number, &key);
  if (!is_in_use) {
    set_word(slot, (word_of(slot) & ~OAP_PINS_MASK) | OAP_UNVERIFIED);
    oap_shard_count_visible(shard, 1);
  }
  out->chunks++;
  out->bytes += slot->bytes;
}

static int by_age(const void *a, const void *b) {
  const queued_slot *x = a;
  const queued_slot *y = b;
  return x->queue != y->queue ? (x->queue < y->queue ? -1 : 1)
                              : (x->stamp < y->stamp ? -1 : x->stamp > y->stamp);
}

/* Oldest first, each into the queue that it stood in. */
static void queue_up(oap_shard *shard, uint32_t slots, queued_slot *list) {
  uint64_t count = 0;
  for (uint32_t i = 1; i <= slots; i++) {
    const oap_slot *slot = &shard->slots[i];
    if (is_visible(slot)) {
      list[count++] = (queued_slot){slot->queue % OAP_QUEUES, i, slot->stamp};
    }
  }
  qsort(list, count, sizeof(*list), by_age);
  const oap_policy *policy = shard->order.policy;
  for (uint64_t i = 0; i < count; i++) {
    if (policy->restore != NULL) {
      policy->restore(&shard->order, list[i].slot);
    } else {
      shard->slots[list[i].slot].in_use_at = 0;
    }
    oap_queue_push(&shard->order, list[i].queue, list[i].slot);
  }
  shard->order.inserted = (uint32_t)count;
}

/* Slots up to the last one in use that are free are the ones to be used next. */
static void chain_free_slots(oap_shard *shard, uint32_t slots) {
  shard->slot_top = slots;
  while (shard->slot_top > 0 && !is_accepted(&shard->slots[shard->slot_top])) {
    shard->slot_top--;
  }
  for (uint32_t i = shard->slot_top; i > 0; i--) {
    if (!is_accepted(&shard->slots[i])) {
      shard->slots[i].queue_next = shard->slot_free;
      shard->slot_free = i;
    }
  }
}

static int rebuild(oap_shard *shard, bool is_in_use, oap_rebuilt *out) {
  uint32_t slots = atomic_load(shard->kept.ready);
  uint64_t count = judge_slots(shard, slots, is_in_use, out);
  found_piece *pieces = malloc((count + 1) * sizeof(*pieces));
  queued_slot *queued = malloc((count + 1) * sizeof(*queued));
  int error = pieces == NULL || queued == NULL ? -ENOMEM : 0;
  if (error == 0) {
    list_pieces(shard, slots, pieces);
    qsort(pieces, count, sizeof(*pieces), by_position);
    refuse_overlapping(shard, pieces, count, out);
    take_extents(shard, pieces, count);
  }
  for (uint32_t i = 1; i <= slots && error == 0; i++) {
    if (is_visible(&shard->slots[i])) {
      enter(shard, i, is_in_use, out);
    }
  }
  if (error == 0) {
    queue_up(shard, slots, queued);
    chain_free_slots(shard, slots);
  }
  free(pieces);
  free(queued);
  return error;
}

int oap_shard_rebuild(oap_shard *shard, oap_rebuilt *out) {
  bool is_locked = oap_shard_lock(shard); /* nobody else is in it, but what it counts is shared */
  int error = is_locked ? rebuild(shard, false, out) : -EBUSY;
  for (uint32_t i = 1; error != 0 && i <= atomic_load(shard->kept.ready); i++) {
    refuse(&shard->slots[i]);
  }
  if (is_locked) {
    oap_shard_unlock(shard);
  }
  return error;
}

/* Readers who take no lock find what they look for, or miss it: links to slots that were entered
 * already lead to others of these only, so no chain is a ring at any time. */
static void empty(oap_shard *shard) {
  for (uint64_t i = 0; i <= shard->index.mask; i++) {
    atomic_store(&shard->index.heads[i], 0);
  }
  for (uint64_t i = 0; i <= shard->index.file_mask; i++) {
    shard->index.file_heads[i] = 0;
  }
  memset(shard->order.queue, 0, sizeof(shard->order.queue));
  shard->order.compared = 0;
  shard->slot_free = 0;
  shard->hand = (oap_hand){0};
  shard->region_count = 0;
  oap_space_init(&shard->space, shard->space.extents, shard->space.limit);
  oap_add_regions(shard);
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint32_t first = shard->regions[r];
    oap_space_limit(&shard->space, first,
                    oap_stripe_limit(shard, shard->space.extents[first].position));
  }
}

bool oap_shard_rebuild_after(oap_shard *shard, uint32_t dead) {
  oap_rebuilt found = {.chunks = 0};
  oap_forget_pins(&shard->holders, dead, atomic_load(shard->kept.ready));
  empty(shard);
  return rebuild(shard, true, &found) == 0;
}
