package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.Figure;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool that is too small for what is read again and again, over a file tier that is not. */
class LowerTierTest {
  private static final int CHUNKS = 160;
  private static final int BYTES = 32_000;

  /** What is copied down depends on when the tier's thread comes to it; some leave before. */
  private static final int MOST_ROUNDS = 2000;

  @TempDir Path folder;

  private final SyntheticFile file = new SyntheticFile(1);
  private final List<ChunkRequest> chunks =
      IntStream.range(0, CHUNKS).mapToObj(i -> file.chunk(i, (long) i * BYTES, BYTES)).toList();
  private ColumnCache cache;

  private static ColumnCache open(Path folder) {
    return ColumnCache.open(
        Map.of("spark.oap.pool.tiers", "dram:1m, file:" + folder + ":64m")::get);
  }

  @BeforeEach
  void open() {
    cache = open(folder);
  }

  @AfterEach
  void nothingIsPinned() {
    assertEquals(0, cache.poolStats().pinnedChunks());
    cache.close();
  }

  /** Reads all chunks, one after the other. */
  private CacheCounters readAll() throws IOException {
    CacheCounters counters = new CacheCounters();
    for (ChunkRequest chunk : chunks) {
      read(chunk, counters);
    }
    return counters;
  }

  private void read(ChunkRequest chunk, CacheCounters counters) throws IOException {
    ReadContext context = new ReadContext(counters);
    try (PinnedChunks held = cache.chunks().get(List.of(chunk), file, context)) {
      file.assertHolds(List.of(chunk), held);
    }
  }

  private CacheCounters readUntilAllIsHeld() throws IOException {
    for (int i = 0; i < MOST_ROUNDS; i++) {
      CacheCounters counters = readAll();
      if (counters.bytesFromFile() == 0) {
        return counters;
      }
    }
    throw new AssertionError("after so many rounds still " + cache.poolStats());
  }

  @Test
  void whatLeavesThePool_comesFromTheTier() throws IOException {
    CacheCounters cold = readAll();
    assertEquals(0, cold.get(Figure.HITS_FROM_TIER));
    CacheCounters warm = readUntilAllIsHeld();
    assertEquals(CHUNKS, warm.chunksHit());
    assertTrue(warm.get(Figure.HITS_FROM_TIER) > CHUNKS / 2);
    assertEquals(warm.get(Figure.HITS_FROM_TIER) * BYTES, warm.get(Figure.BYTES_FROM_TIER));
    PoolStats.Tier tier = cache.poolStats().tier();
    assertEquals(64 << 20, tier.capacityBytes());
    assertTrue(tier.chunks() > CHUNKS / 2 && tier.bytesWritten() >= tier.heldBytes());
    assertTrue(tier.hits() >= warm.get(Figure.HITS_FROM_TIER));
    assertEquals(0, tier.errors());
  }

  @Test
  void whatIsDropped_isDroppedInBoth() throws IOException {
    readUntilAllIsHeld();
    cache.drop(chunks.get(0).key().file());
    assertEquals(0, cache.poolStats().tier().chunks());
    assertEquals((long) CHUNKS * BYTES, readAll().bytesFromFile());
    readUntilAllIsHeld();
    cache.clear();
    assertEquals(0, cache.poolStats().tier().chunks());
    readUntilAllIsHeld();
    for (ChunkRequest chunk : chunks) {
      cache.chunks().drop(chunk.key());
    }
    assertEquals(0, cache.poolStats().tier().chunks());
  }

  @Test
  void chunkThatWasDamagedInThePool_isReadFromItsFile() throws IOException {
    ChunkRequest damaged = chunks.get(0);
    try (ChunkLoad load =
        cache.chunks().begin(damaged.key(), BYTES, new ReadContext(new CacheCounters()))) {
      load.publish(1); // no checksum of anything
    }
    cache.chunks().pin(damaged.key()).close();
    LowerTier tier = cache.chunks().tier;
    for (int i = 0; tier.find(damaged.key()) == 0 || cache.chunks().isHeld(damaged.key()); i++) {
      assertTrue(i < MOST_ROUNDS, "it should have left by now");
      for (ChunkRequest chunk : chunks.subList(1, CHUNKS)) {
        read(chunk, new CacheCounters());
      }
    }
    CacheCounters counters = new CacheCounters();
    read(damaged, counters);
    assertEquals(BYTES, counters.bytesFromFile());
    assertEquals(0, counters.get(Figure.HITS_FROM_TIER));
  }

  @Test
  void tierThatCannotBeOpened_isLeftOut() throws IOException {
    try (ColumnCache without = open(folder.resolve("missing"))) {
      assertEquals(1 << 20, without.poolStats().capacityBytes());
      assertEquals(0, without.poolStats().tier().capacityBytes());
    }
  }
}
