/* How much of the pool is payload, and in how many pieces chunks lie, after long use: the pool is
 * filled and turned over many times with chunks of mixed sizes, a part of them used again. */
#include "oap_pool.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 42;

static uint64_t size_of(uint64_t low, uint64_t high, bool even_orders) {
  if (!even_orders) {
    return low + random_next(&state) % (high - low + 1);
  }
  uint64_t size = low;
  while (size * 2 <= high && random_next(&state) % 6 != 0) {
    size *= 2;
  }
  return size + random_next(&state) % size;
}

static void run(const char *policy, uint64_t capacity, uint64_t low, uint64_t high,
                bool even_orders, unsigned turnovers) {
  oap_pool *pool;
  oap_options options = {.capacity = capacity, .policy = policy};
  if (oap_pool_open(&options, &pool) != 0) {
    exit(1);
  }
  uint64_t pieces[OAP_MAX_PIECES + 1] = {0};
  uint64_t put = 0, number = 0, samples = 0;
  double sum = 0, least = 1;
  oap_stats stats;
  while (put < capacity * turnovers) {
    oap_chunk chunk;
    oap_key key = {.file_low = number++};
    int result = oap_pool_reserve(pool, &key, size_of(low, high, even_orders), &chunk);
    if (result == 0) {
      put += chunk.bytes;
      oap_pool_publish(pool, &chunk);
      oap_pool_unpin(pool, &chunk);
      if (put > capacity * (turnovers / 2)) {
        pieces[chunk.pieces]++;
        if (number % 64 == 0) {
          oap_pool_stats(pool, &stats);
          double used = (double)stats.used_bytes / (double)capacity;
          sum += used;
          least = used < least ? used : least;
          samples++;
        }
      }
    }
    for (int i = 0; i < 2; i++) { /* some are used again, so that the order of leaving is mixed */
      key.file_low = number - 1 - random_next(&state) % (1 + number / 2 % (2 * capacity / high));
      if (oap_pool_pin(pool, &key, &chunk) == 0) {
        oap_pool_unpin(pool, &chunk);
      }
    }
  }
  oap_pool_stats(pool, &stats);
  uint64_t all = pieces[1] + pieces[2] + pieces[3] + pieces[4];
  printf("%-7s %6llu MiB, chunks %5llu..%5llu KiB%s: payload %.4f (least %.4f), pieces 1: %.3f "
         "2: %.3f 3: %.3f 4: %.3f, tables %.5f\n",
         policy, (unsigned long long)capacity >> 20, (unsigned long long)low >> 10,
         (unsigned long long)high >> 10, even_orders ? " log" : "    ", sum / (double)samples,
         least, (double)pieces[1] / (double)all, (double)pieces[2] / (double)all,
         (double)pieces[3] / (double)all, (double)pieces[4] / (double)all,
         (double)stats.metadata_bytes / (double)capacity);
  oap_pool_close(pool);
}

int main(void) {
  for (int p = 0; p < 2; p++) {
    const char *policy = p == 0 ? "s3fifo" : "lru";
    for (int log = 0; log < 2; log++) {
      run(policy, UINT64_C(1) << 28, 64 << 10, 4 << 20, log, 128);
      run(policy, UINT64_C(1) << 30, 64 << 10, 4 << 20, log, 128);
      run(policy, UINT64_C(4) << 30, 64 << 10, 4 << 20, log, 128);
    }
    run(policy, UINT64_C(1) << 30, 1 << 20, 1 << 20, false, 128);
    run(policy, UINT64_C(1) << 30, 1 << 10, 1 << 20, true, 128);
  }
  return 0;
}
