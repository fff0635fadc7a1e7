/* See shared_work.h. */
#include "shared_work.h"

#include <errno.h>
#include <unistd.h>

oap_options work_options(uint64_t capacity) {
  oap_options options = home_options(capacity);
  options.shared = true;
  return options;
}

oap_pool *work_open(uint64_t capacity) {
  oap_options options = work_options(capacity);
  oap_pool *pool;
  CHECK(oap_pool_open(&options, &pool) == 0);
  return pool;
}

static oap_key key_of(uint64_t k) { return key_numbered(k / 8, (uint32_t)(k % 3), (uint32_t)k); }

static void unpin(work *w, unsigned i) {
  CHECK(chunk_is_right(&w->key[i], &w->chunk[i]));
  CHECK(oap_pool_unpin(w->pool, &w->chunk[i]) == 0);
  w->count--;
  w->key[i] = w->key[w->count];
  w->chunk[i] = w->chunk[w->count];
}

static void load(work *w, const oap_key *key) {
  oap_chunk *chunk = &w->chunk[w->count];
  uint64_t bytes = random_size(&w->random, 1, w->most_bytes);
  int result = random_below(&w->random, 8) == 0
                   ? oap_pool_reserve_handed(w->pool, key, bytes, 3, chunk)
                   : oap_pool_reserve(w->pool, key, bytes, chunk);
  if (result != 0) {
    CHECK(result == -EEXIST || result == -EINPROGRESS || result == -ENOSPC);
    return;
  }
  if (random_below(&w->random, 8) == 0) {
    CHECK(oap_pool_abandon(w->pool, chunk) == 0);
    return;
  }
  chunk_fill(key, chunk);
  CHECK(oap_pool_publish(w->pool, chunk) == 0);
  w->key[w->count++] = *key;
}

void work_once(work *w) {
  oap_key key = key_of(random_below(&w->random, WORK_KEYS));
  uint64_t choice = random_below(&w->random, 1000);
  if (w->count == WORK_HELD || (w->count > 0 && choice < 350)) {
    unpin(w, (unsigned)random_below(&w->random, w->count));
  } else if (choice < 650) {
    load(w, &key);
  } else if (choice < 960) {
    if (oap_pool_pin(w->pool, &key, &w->chunk[w->count]) == 0) {
      CHECK(chunk_is_right(&key, &w->chunk[w->count]));
      w->key[w->count++] = key;
      w->hits++;
    }
  } else if (choice < 985) {
    oap_pool_drop(w->pool, &key);
  } else if (choice < 997) {
    oap_pool_drop_file(w->pool, key.file_high, key.file_low);
  } else {
    oap_pool_clear(w->pool);
  }
}

void work_end(work *w) {
  while (w->count > 0) {
    unpin(w, 0);
  }
}

void work_close(work *w) {
  work_end(w);
  /* What a thread could not free, since another one kept the lock for long, the next sweep does. */
  for (int i = 0; i < 3000 && oap_pool_validate(w->pool) != NULL; i++) {
    usleep(1000);
  }
  CHECK_VALID(w->pool);
  oap_pool_clear(w->pool);
  oap_stats stats;
  oap_pool_stats(w->pool, &stats);
  CHECK(stats.used_bytes == 0 && stats.pinned_chunks == 0);
  pool_close(w->pool);
}
