/* Stripes: see stripe.h. */
#include "stripe.h"

#include "arena/arena.h"
#include "base/arithmetic.h"

const oap_range *oap_stripe_at(const oap_shard *shard, uint64_t position) {
  const oap_range *stripe = shard->stripes;
  while (position - stripe->position >= stripe->bytes) {
    stripe++;
  }
  return stripe;
}

const oap_arena *oap_stripe_arena(const oap_shard *shard, uint64_t position) {
  return &shard->arenas[oap_stripe_at(shard, position) - shard->stripes];
}

uint64_t oap_stripe_limit(const oap_shard *shard, uint64_t position) {
  return oap_stripe_at(shard, position)->position + shard->part;
}

void oap_stripe_set_resizing(oap_shard *shard, bool resizing) {
  pthread_mutex_lock(&shard->lock);
  shard->is_resizing = resizing;
  while (resizing && shard->releasing > 0) {
    pthread_cond_wait(&shard->released, &shard->lock);
  }
  pthread_mutex_unlock(&shard->lock);
}

static void release_range(const oap_shard *shard, uint64_t start, uint64_t end) {
  const oap_arena *arena = oap_stripe_arena(shard, start);
  oap_arena_release(arena, start - arena->position, end - start);
}

void oap_stripe_add_leftover(oap_shard *shard, oap_leftover *left, uint32_t away, uint64_t start,
                             uint64_t end) {
  enum { LARGEST_PAGE = 1 << 21 };
  const oap_extent *extent = &shard->space.extents[away];
  start = oap_most(start / LARGEST_PAGE * LARGEST_PAGE, extent->position);
  end = oap_least((end / LARGEST_PAGE + 1) * LARGEST_PAGE, oap_extent_end(extent));
  shard->releasing += left->count == 0;
  left->range[left->count++] = (oap_range){.position = start, .bytes = end - start};
}

void oap_stripe_release_leftover(oap_shard *shard, const oap_leftover *left) {
  for (uint32_t i = 0; i < left->count; i++) {
    const oap_range *range = &left->range[i];
    release_range(shard, range->position, range->position + range->bytes);
  }
  pthread_mutex_lock(&shard->lock);
  if (--shard->releasing == 0) {
    pthread_cond_broadcast(&shard->released);
  }
  pthread_mutex_unlock(&shard->lock);
}

/* The first part of a region, from a position on, that is away; its start and end. What was seen
 * before may have grown since, by chunks that went. */
static bool next_away(oap_shard *shard, uint32_t region, uint64_t from, uint64_t *start,
                      uint64_t *end) {
  bool found = false;
  pthread_mutex_lock(&shard->lock);
  for (uint32_t e = region; e != 0 && !found; e = shard->space.extents[e].next) {
    const oap_extent *extent = &shard->space.extents[e];
    *start = oap_most(extent->position, from);
    *end = oap_extent_end(extent);
    found = extent->owner == OAP_AWAY && *end > from;
  }
  pthread_mutex_unlock(&shard->lock);
  return found;
}

void oap_stripe_release_all(oap_shard *shard, uint64_t part) {
  for (uint32_t r = 0; r < shard->region_count; r++) {
    uint64_t start;
    uint64_t end;
    for (uint64_t from = 0; next_away(shard, shard->regions[r], from, &start, &end); from = end) {
      uint64_t used_end = oap_least(end, oap_stripe_at(shard, start)->position + part);
      if (start < used_end) {
        release_range(shard, start, used_end);
      }
    }
  }
}
