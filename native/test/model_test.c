/* Random operations against a naive map: what the map says is there may have been evicted, what it
 * says is pinned may not, and everything read is right. */
#include "check.h"

#include <errno.h>

#define FILES 6
#define COLUMNS 24
#define KEYS (FILES * COLUMNS)
#define HELD 40
#define STRIPE (UINT64_C(1) << 21) /* address space comes in such steps */

typedef struct held {
  uint32_t key;
  bool reserved; /* else pinned */
  bool dropped;  /* since then */
  oap_chunk chunk;
} held;

typedef struct model {
  oap_pool *pool;
  uint64_t random;
  uint64_t capacity; /* of each shard */
  uint64_t most;     /* that it can become */
  unsigned shards;
  uint64_t notes[KEYS]; /* of the chunk that was reserved last */
  uint64_t bytes[KEYS]; /* of the published chunk; 0: none was published, or it was dropped */
  held held[HELD];
  unsigned held_count;
} model;

static oap_key key_of(uint32_t k) { return key_numbered(k / COLUMNS, k % 3, k % COLUMNS); }

static int held_of(const model *m, uint32_t key, bool reserved) {
  for (unsigned i = 0; i < m->held_count; i++) {
    if (m->held[i].key == key && m->held[i].reserved == reserved && !m->held[i].dropped) {
      return (int)i;
    }
  }
  return -1;
}

/* The note of a reservation is 0 until it is set, and no one else's. */
static void take_note(model *m, const held *h) {
  uint64_t note = 1;
  CHECK(oap_pool_note(m->pool, &h->chunk, &note) == -EINVAL && note == 1);
  m->notes[h->key] = random_below(&m->random, 4) == 0 ? 0 : random_below(&m->random, UINT64_MAX);
  if (m->notes[h->key] != 0) {
    CHECK(oap_pool_set_note(m->pool, &h->chunk, ~m->notes[h->key]) == 0);
    CHECK(oap_pool_set_note(m->pool, &h->chunk, m->notes[h->key]) == 0);
  }
}

static void check_note(model *m, const held *h) {
  uint64_t note;
  CHECK(oap_pool_note(m->pool, &h->chunk, &note) == 0);
  CHECK(note == m->notes[h->key]);
  CHECK(oap_pool_set_note(m->pool, &h->chunk, 1) == -EINVAL);
}

/* Never evicts. */
static int reserve_free(model *m, const oap_key *key, uint64_t bytes, oap_chunk *chunk) {
  oap_stats before, after;
  oap_pool_stats(m->pool, &before);
  int result = oap_pool_reserve_free(m->pool, key, bytes, chunk);
  oap_pool_stats(m->pool, &after);
  CHECK(before.evictions == after.evictions && before.chunks == after.chunks);
  return result;
}

static void reserve(model *m, uint32_t k) {
  oap_key key = key_of(k);
  uint64_t bytes = random_size(&m->random, 1, m->capacity / 3);
  if (random_below(&m->random, 50) == 0) {
    bytes = m->capacity + 1 + random_below(&m->random, UINT64_C(1) << 62);
    bool known = oap_pool_is_held(m->pool, &key) || held_of(m, k, true) >= 0;
    oap_chunk none;
    oap_stats before, after;
    oap_pool_stats(m->pool, &before);
    CHECK((oap_pool_reserve(m->pool, &key, bytes, &none) == -EFBIG) == !known);
    oap_pool_stats(m->pool, &after);
    CHECK(before.evictions == after.evictions);
    return;
  }
  bool was_held = oap_pool_is_held(m->pool, &key);
  held *h = &m->held[m->held_count];
  bool may_evict = random_below(&m->random, 4) > 0;
  int result = may_evict ? oap_pool_reserve(m->pool, &key, bytes, &h->chunk)
                         : reserve_free(m, &key, bytes, &h->chunk);
  if (held_of(m, k, true) >= 0) {
    CHECK(result == -EINPROGRESS);
  } else if (was_held) {
    CHECK(result == -EEXIST);
  } else if (result == 0) {
    CHECK(h->chunk.bytes == bytes);
    h->key = k;
    h->reserved = true;
    h->dropped = false;
    m->bytes[k] = 0;
    m->held_count++;
    chunk_fill(&key, &h->chunk);
    take_note(m, h);
  } else {
    CHECK(result == -ENOSPC || result == -EFBIG);
    CHECK(!may_evict || m->held_count > 0 || bytes > m->capacity / 4);
  }
}

static void pin(model *m, uint32_t k) {
  oap_key key = key_of(k);
  held *h = &m->held[m->held_count];
  bool is_held = oap_pool_is_held(m->pool, &key);
  int result = random_below(&m->random, 4) == 0 ? oap_pool_pin_unused(m->pool, &key, &h->chunk)
                                                : oap_pool_pin(m->pool, &key, &h->chunk);
  CHECK(result == (is_held ? 0 : -ENOENT));
  CHECK(is_held || held_of(m, k, false) < 0); /* pinned ones are never evicted */
  if (result == 0) {
    CHECK(m->bytes[k] == h->chunk.bytes);
    CHECK(chunk_is_right(&key, &h->chunk));
    h->key = k;
    h->reserved = false;
    h->dropped = false;
    m->held_count++;
    check_note(m, h);
  }
}

static void end_one(model *m) {
  unsigned i = (unsigned)random_below(&m->random, m->held_count);
  held *h = &m->held[i];
  oap_key key = key_of(h->key);
  CHECK(chunk_is_right(&key, &h->chunk));
  if (!h->reserved) {
    CHECK(oap_pool_publish(m->pool, &h->chunk) == -EINVAL);
    CHECK(oap_pool_unpin(m->pool, &h->chunk) == 0);
  } else if (random_below(&m->random, 4) > 0) {
    CHECK(oap_pool_unpin(m->pool, &h->chunk) == -EINVAL);
    CHECK(oap_pool_publish(m->pool, &h->chunk) == 0);
    CHECK(oap_pool_abandon(m->pool, &h->chunk) == -EINVAL);
    if (!h->dropped) {
      CHECK(oap_pool_is_held(m->pool, &key));
      m->bytes[h->key] = h->chunk.bytes;
      check_note(m, h);
    }
    h->reserved = false;
    return;
  } else {
    CHECK(oap_pool_abandon(m->pool, &h->chunk) == 0);
    CHECK(oap_pool_abandon(m->pool, &h->chunk) == -EINVAL);
  }
  *h = m->held[--m->held_count];
}

static void forget(model *m, uint32_t k) {
  m->bytes[k] = 0;
  for (unsigned i = 0; i < m->held_count; i++) {
    m->held[i].dropped |= m->held[i].key == k;
  }
}

static void drop(model *m, uint32_t k) {
  oap_key key = key_of(k);
  bool known = oap_pool_is_held(m->pool, &key) || held_of(m, k, true) >= 0;
  CHECK(oap_pool_drop(m->pool, &key) == (known ? 0 : -ENOENT));
  CHECK(!oap_pool_is_held(m->pool, &key));
  forget(m, k);
}

static void drop_file(model *m, uint32_t file) {
  uint64_t known = 0;
  for (uint32_t k = file * COLUMNS; k < (file + 1) * COLUMNS; k++) {
    oap_key key = key_of(k);
    known += oap_pool_is_held(m->pool, &key) || held_of(m, k, true) >= 0;
    forget(m, k);
  }
  oap_key key = key_of(file * COLUMNS);
  CHECK(oap_pool_drop_file(m->pool, key.file_high, key.file_low) == known);
}

/* Whether a reservation is still one that others wait for; the answer may evict chunks. */
static bool is_loading(model *m, const oap_key *key) {
  oap_chunk chunk;
  int result = oap_pool_reserve(m->pool, key, 1, &chunk);
  if (result == 0) {
    CHECK(oap_pool_abandon(m->pool, &chunk) == 0);
  }
  return result == -EINPROGRESS;
}

/* What is in use may have been dropped, but only if the pool shrank, and it can still be read. */
static void resize(model *m) {
  uint64_t capacity = OAP_LEAST_CAPACITY + 4096 * random_below(&m->random, 200);
  if (random_below(&m->random, 20) == 0) {
    CHECK(oap_pool_resize(m->pool, (m->most + 4096) * m->shards) == -EFBIG);
    CHECK(oap_pool_resize(m->pool, OAP_LEAST_CAPACITY * m->shards - 1) == -EINVAL);
    return;
  }
  capacity = capacity > m->most ? m->most : capacity;
  bool shrinks = capacity < m->capacity;
  CHECK(oap_pool_resize(m->pool, capacity * m->shards + random_below(&m->random, 4096)) == 0);
  CHECK_VALID(m->pool);
  m->capacity = capacity;
  for (unsigned i = 0; i < m->held_count; i++) {
    held *h = &m->held[i];
    oap_key key = key_of(h->key);
    CHECK(chunk_is_right(&key, &h->chunk));
    if (!h->dropped && !(h->reserved ? is_loading(m, &key) : oap_pool_is_held(m->pool, &key))) {
      CHECK(shrinks);
      h->dropped = true;
      m->bytes[h->key] = 0;
    }
  }
  oap_stats stats;
  oap_pool_stats(m->pool, &stats);
  CHECK(stats.capacity_bytes == capacity * m->shards);
}

static void operate(model *m) {
  uint32_t k = (uint32_t)random_below(&m->random, KEYS);
  uint64_t choice = random_below(&m->random, 1000);
  if (m->held_count == HELD || (m->held_count > 0 && choice < 350)) {
    end_one(m);
  } else if (choice < 650) {
    reserve(m, k);
  } else if (choice < 950) {
    pin(m, k);
  } else if (choice < 990) {
    drop(m, k);
  } else if (choice < 994) {
    resize(m);
  } else if (choice < 999) {
    drop_file(m, k / COLUMNS);
  } else {
    for (uint32_t i = 0; i < KEYS; i++) {
      forget(m, i);
    }
    oap_pool_clear(m->pool);
  }
}

static void check_snapshot(const model *m, uint64_t chunks) {
  oap_held list[KEYS];
  uint64_t version;
  CHECK(oap_pool_snapshot(m->pool, list, KEYS, &version) == chunks);
  CHECK(version == oap_pool_content_version(m->pool));
  for (uint64_t i = 0; i < chunks; i++) {
    CHECK(oap_pool_is_held(m->pool, &list[i].key));
    for (uint32_t k = 0; k < KEYS; k++) {
      oap_key key = key_of(k);
      if (memcmp(&key, &list[i].key, sizeof(key)) == 0) {
        CHECK(list[i].bytes == m->bytes[k]);
      }
    }
  }
  CHECK(oap_pool_snapshot(m->pool, list, chunks / 2, &version) == chunks);
}

static void check_totals(const model *m) {
  oap_stats stats;
  oap_pool_stats(m->pool, &stats);
  uint64_t held_chunks = 0;
  for (uint32_t k = 0; k < KEYS; k++) {
    oap_key key = key_of(k);
    held_chunks += oap_pool_is_held(m->pool, &key);
  }
  CHECK(stats.chunks == held_chunks);
  check_snapshot(m, held_chunks);
  CHECK((stats.pinned_chunks == 0) == (m->held_count == 0));
  CHECK(stats.pinned_bytes <= stats.used_bytes);
  CHECK(m->held_count > 0 || stats.used_bytes <= stats.capacity_bytes);
}

static void run(uint64_t seed, const char *policy) {
  model m = {.random = seed};
  m.capacity = (UINT64_C(1) << 16) + 4096 * random_below(&m.random, 64);
  m.shards = random_below(&m.random, 4) == 0 ? 2 : 1;
  m.most = (m.capacity * OAP_MOST_GROWTH + STRIPE - 1) / STRIPE * STRIPE;
  oap_options options = check_options(m.capacity * m.shards);
  options.policy = policy;
  options.shards = m.shards;
  CHECK(oap_pool_open(&options, &m.pool) == 0);
  for (int i = 0; i < 600; i++) {
    operate(&m);
    if (i % 50 == 0) {
      CHECK_VALID(m.pool);
    }
  }
  CHECK_VALID(m.pool);
  check_totals(&m);
  if (m.held_count > 0) {
    CHECK(oap_pool_close(m.pool) == -EBUSY);
    CHECK(oap_pool_retire(m.pool) == -EBUSY);
  }
  while (m.held_count > 0) {
    end_one(&m);
  }
  CHECK_VALID(m.pool);
  check_totals(&m);
  if (random_below(&m.random, 2) == 0) {
    oap_chunk none;
    oap_key key = key_of(0);
    CHECK(oap_pool_retire(m.pool) == 0);
    CHECK(oap_pool_reserve(m.pool, &key, 1, &none) == -ESHUTDOWN);
    CHECK(oap_pool_resize(m.pool, m.capacity * m.shards) == -ESHUTDOWN);
    CHECK(oap_pool_pin(m.pool, &key, &none) == -ENOENT);
  }
  CHECK(oap_pool_close(m.pool) == 0);
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t first = check_seed;
  uint64_t runs = check_runs(150);
  for (uint64_t i = 0; i < runs; i++) {
    check_seed = first + i;
    run(check_seed, "s3fifo");
    run(check_seed, "generations");
    run(check_seed, "lru");
  }
  return 0;
}
