package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.PoolStats;

/** Pools of tests: opened the same way everywhere, and looked over when the test is done. */
public final class RestingPool {
  private RestingPool() {}

  /** A pool that takes whatever there is room for. */
  public static ColumnPool open(long capacityBytes) {
    return ColumnPool.open(PoolOptions.anonymous(capacityBytes).withPolicy("lru").withShards(1));
  }

  /** Fails when a pin or a reservation was left behind or the pool is not in order; closes it. */
  public static void close(ColumnPool pool) {
    pool.validate();
    PoolStats stats = pool.stats();
    assertEquals(0, stats.pinnedChunks(), stats::toString);
    assertEquals(0, stats.pinnedBytes(), stats::toString);
    pool.close();
  }
}
