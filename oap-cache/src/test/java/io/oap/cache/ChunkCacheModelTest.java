package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many threads read random chunks of a few files through a pool that evicts all the time, while
 * some reads fail. Every byte that comes back verifies itself.
 */
class ChunkCacheModelTest {
  private static final int FILES = 4;
  private static final int CHUNKS = 24;
  private static final int THREADS = 6;
  private static final int GETS = 1000;

  private final long seed = Long.getLong("oap.seed", System.nanoTime());
  private final List<List<ChunkRequest>> files = new ArrayList<>();

  /** Lays the chunks of each file out one behind the other, here and there with a gap. */
  private void layOut(Random random) {
    for (int f = 0; f < FILES; f++) {
      SyntheticFile file = new SyntheticFile(f);
      List<ChunkRequest> chunks = new ArrayList<>();
      long offset = 4;
      for (int c = 0; c < CHUNKS; c++) {
        ChunkRequest chunk = file.chunk(c, offset, 1 + random.nextInt(1 << random.nextInt(16)));
        chunks.add(chunk);
        offset = chunk.end() + (random.nextInt(4) == 0 ? random.nextInt(100) : 0);
      }
      files.add(chunks);
    }
  }

  /** What one thread has in its hands. */
  private record Reading(SyntheticFile file, List<ChunkRequest> requests, PinnedChunks held) {
    void verify() {
      file.assertHolds(requests, held);
    }
  }

  private CacheCounters readAtRandom(ChunkCache cache, Random random) {
    CacheCounters counters = new CacheCounters();
    Deque<Reading> open = new ArrayDeque<>();
    long chunks = 0;
    for (int i = 0; i < GETS; i++) {
      int f = random.nextInt(FILES);
      List<ChunkRequest> requests = new ArrayList<>(files.get(f));
      Collections.shuffle(requests, random);
      requests = requests.subList(0, 1 + random.nextInt(6));
      boolean fails = random.nextInt(30) == 0;
      SyntheticFile file =
          new SyntheticFile(
              f,
              ranges -> {
                if (fails) {
                  throw new IOException("now and then");
                }
              });
      CacheCounters own = new CacheCounters();
      try {
        open.add(new Reading(file, requests, cache.get(requests, file, new ReadContext(own))));
        open.getLast().verify();
        chunks += requests.size();
        counters.add(own);
      } catch (IOException e) {
        assertEquals("now and then", e.getMessage());
      }
      while (open.size() > random.nextInt(4)) {
        Reading oldest = open.remove();
        oldest.verify();
        oldest.held().close();
      }
    }
    open.forEach(reading -> reading.held().close());
    assertEquals(chunks, counters.chunksAsked());
    return counters;
  }

  @Test
  @Timeout(60)
  void randomReads_areRight_andLeaveNothing() throws Exception {
    System.out.println("ChunkCacheModelTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    layOut(random);
    long bytes = files.stream().flatMap(List::stream).mapToLong(ChunkRequest::length).sum();
    for (String policy : List.of("s3fifo", "generations", "lru")) {
      PoolOptions options = PoolOptions.anonymous(Math.max(bytes / 3, 1 << 16));
      ColumnPool pool = ColumnPool.open(options.withPolicy(policy).withShards(1));
      ChunkCache cache = new ChunkCache(pool, 40_000, id -> null, null, LowerTier.NONE);
      ExecutorService threads = Executors.newFixedThreadPool(THREADS);
      List<Future<CacheCounters>> results = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        Random own = new Random(random.nextLong());
        Callable<CacheCounters> reader = () -> readAtRandom(cache, own);
        results.add(threads.submit(reader));
      }
      threads.shutdown();
      CacheCounters total = new CacheCounters();
      for (Future<CacheCounters> result : results) {
        total.add(result.get());
      }
      PoolStats stats = pool.stats();
      assertNull(cache.fault());
      assertTrue(total.chunksHit() > 0 && total.chunksMissed() > 0, stats::toString);
      assertTrue(stats.evictions() > 0, stats::toString);
      RestingPool.close(pool);
    }
  }
}
