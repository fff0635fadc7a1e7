package io.oap.cache.pool;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Where the pools of tests lie: in memory, or, as dev/pool-vm asks, where the system properties
 * oap.test.medium, oap.test.path and oap.test.node say.
 */
final class TestMedium {

  private TestMedium() {}

  static PoolOptions options(long capacity) {
    Medium medium =
        Medium.valueOf(System.getProperty("oap.test.medium", "dram").toUpperCase(Locale.ROOT));
    if (medium == Medium.NODE) {
      return PoolOptions.onNodes(capacity, 1L << Integer.getInteger("oap.test.node", 0), false);
    }
    return medium.isOnPaths()
        ? PoolOptions.onPaths(
            capacity, medium, List.of(Path.of(System.getProperty("oap.test.path"))))
        : PoolOptions.anonymous(capacity);
  }
}
