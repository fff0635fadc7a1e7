/* Space whose descriptions of extents run out: what has been given can be taken again, piece by
 * piece in the order of positions, as a shard that is rebuilt does. */
#include "check.h"
#include "slots/space_check.h"

#define REGION (UINT64_C(1) << 20)
#define LIMIT 200

typedef struct piece {
  uint64_t position;
  uint64_t bytes;
} piece;

static oap_extent table[LIMIT];

static uint32_t begin(oap_space *space) {
  memset(table, 0, sizeof(table));
  oap_space_init(space, table, LIMIT);
  uint32_t region = oap_space_add_region(space, 0, REGION);
  oap_space_limit(space, region, REGION / 4 * 3);
  return region;
}

/* Gives and frees at random until nothing more can be described; whether it came to that. */
static bool fill(oap_space *space, uint64_t *random) {
  uint32_t extents[LIMIT];
  uint32_t count = 0;
  uint32_t away;
  for (int i = 0; i < 100000 && space->spare > space->kept; i++) {
    uint32_t found[OAP_MAX_PIECES];
    if (count > 0 && random_below(random, 5) < 2) {
      uint32_t k = (uint32_t)random_below(random, count);
      oap_space_free(space, extents[k], REGION / 4 * 3, &away);
      extents[k] = extents[--count];
    } else {
      uint64_t units = random_size(random, 1, 200);
      uint32_t pieces = oap_space_allocate(space, 1, units, OAP_MAX_PIECES, found);
      for (uint32_t p = 0; p < pieces; p++) {
        extents[count++] = found[p];
      }
    }
  }
  CHECK(oap_space_validate(space) == NULL);
  return space->spare == space->kept;
}

static uint32_t list_pieces(uint32_t region, piece *out) {
  uint32_t count = 0;
  for (uint32_t e = region; e != 0; e = table[e].next) {
    if (table[e].owner == 1) {
      out[count++] = (piece){table[e].position, (uint64_t)table[e].units * OAP_ALIGNMENT};
    }
  }
  return count;
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  unsigned full = 0;
  for (uint64_t run = check_runs(500); run > 0; run--) {
    oap_space space;
    piece pieces[LIMIT];
    uint32_t region = begin(&space);
    full += fill(&space, &random);
    uint32_t count = list_pieces(region, pieces);
    uint64_t used = oap_space_used(&space);
    uint32_t free = begin(&space);
    for (uint32_t i = 0; i < count; i++) {
      CHECK(oap_space_take(&space, &free, 1, pieces[i].position, pieces[i].bytes) != 0);
    }
    CHECK(oap_space_used(&space) == used && oap_space_validate(&space) == NULL);
  }
  CHECK(full > 0);
  return 0;
}
