package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.PoolStats;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A check of all chunks leaves no trace: what nobody reads leaves first, checked or not. */
class VerifyTest {
  private static final int CAPACITY = 1 << 20;

  private final SyntheticFile file = new SyntheticFile(1);

  private ChunkRequest chunk(int column) {
    return file.chunk(column, (long) CAPACITY * column, CAPACITY * 2 / 5);
  }

  private void read(ColumnCache cache, int column) throws IOException {
    cache.chunks().get(List.of(chunk(column)), file, new ReadContext(new CacheCounters())).close();
  }

  @Test
  void verify_isNoUse() throws IOException {
    Map<String, String> conf =
        Map.of("spark.oap.pool.size", "" + CAPACITY, "spark.oap.pool.policy", "lru");
    try (ColumnCache cache = ColumnCache.open(conf::get)) {
      read(cache, 0);
      read(cache, 1);
      read(cache, 1);
      PoolStats before = cache.poolStats();
      assertEquals(2, cache.verify(file -> true).chunks());
      assertEquals(2, cache.verify(file -> true).chunks());
      PoolStats after = cache.poolStats();
      assertEquals(before.hits(), after.hits());
      assertEquals(before.misses(), after.misses());
      read(cache, 2);
      assertFalse(cache.vectors().isHeld(chunk(0).key()));
      assertTrue(cache.vectors().isHeld(chunk(1).key()));
    }
  }
}
