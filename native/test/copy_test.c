/* Copies into chunks and out of them, against memcpy: lengths on both sides of every bound in
 * copy.c, any alignment, one to four pieces; what lies around stays as it was. */
#include "base/copy.h"

#include "check.h"

#define MOST (UINT64_C(600) << 10)
#define AROUND 128

static unsigned char source[MOST + AROUND];
static unsigned char target[MOST + 2 * AROUND];

static bool is_all(const unsigned char *bytes, uint64_t count, unsigned char value) {
  for (uint64_t i = 0; i < count; i++) {
    if (bytes[i] != value) {
      return false;
    }
  }
  return true;
}

static void stream_anywhere(uint64_t *random) {
  uint64_t bytes = random_size(random, 0, MOST);
  const unsigned char *from = source + random_below(random, AROUND);
  uint64_t at = AROUND + random_below(random, AROUND);
  bytes = bytes > MOST - AROUND ? MOST - AROUND : bytes;
  memset(target, 7, sizeof(target));
  oap_stream_copy(target + at, from, bytes);
  oap_stream_end();
  CHECK(memcmp(target + at, from, bytes) == 0);
  CHECK(is_all(target, at, 7));
  CHECK(is_all(target + at + bytes, sizeof(target) - at - bytes, 7));
}

/* Each piece has memory of its own, of just its size, so that AddressSanitizer sees its ends. */
static void there_and_back(uint64_t *random) {
  oap_chunk chunk = {.pieces = 1 + (uint32_t)random_below(random, OAP_MAX_PIECES)};
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    uint64_t bytes = random_size(random, 1, MOST / chunk.pieces - OAP_ALIGNMENT);
    if (i + 1 < chunk.pieces) {
      bytes = (bytes + OAP_ALIGNMENT - 1) / OAP_ALIGNMENT * OAP_ALIGNMENT;
    }
    chunk.piece[i].bytes = bytes;
    CHECK(posix_memalign((void **)&chunk.piece[i].data, OAP_ALIGNMENT, bytes) == 0);
    chunk.bytes += bytes;
  }
  oap_chunk_fill(&chunk, source);
  const unsigned char *from = source;
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    CHECK(memcmp(chunk.piece[i].data, from, chunk.piece[i].bytes) == 0);
    from += chunk.piece[i].bytes;
  }
  memset(target, 7, sizeof(target));
  oap_chunk_copy(&chunk, target + 1);
  CHECK(target[0] == 7 && memcmp(target + 1, source, chunk.bytes) == 0);
  CHECK(is_all(target + 1 + chunk.bytes, sizeof(target) - 1 - chunk.bytes, 7));
  for (uint32_t i = 0; i < chunk.pieces; i++) {
    free(chunk.piece[i].data);
  }
}

int main(int argc, char **argv) {
  check_start(argc, argv);
  uint64_t random = check_seed;
  for (uint64_t i = 0; i < sizeof(source); i++) {
    source[i] = (unsigned char)random_next(&random);
  }
  for (uint64_t run = check_runs(2000); run > 0; run--) {
    stream_anywhere(&random);
    there_and_back(&random);
  }
  return 0;
}
