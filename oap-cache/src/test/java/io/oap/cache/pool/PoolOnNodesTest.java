package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** A pool is bound to memory nodes only where they have the memory. */
class PoolOnNodesTest {

  private static final long CAPACITY = 1 << 20;

  /** A node never has all of its memory free; the kernel would kill what is bound to it. */
  @Test
  void poolLargerThanTheFreeMemoryOfItsNode_isRefused() throws IOException {
    Path meminfo = Path.of("/sys/devices/system/node/node0/meminfo");
    assumeTrue(Files.isReadable(meminfo), "this system does not tell of nodes");
    assumeTrue(opens(PoolOptions.onNodes(CAPACITY, 1, false)), "this system binds no memory");
    long kibibytes =
        Files.readAllLines(meminfo).stream()
            .filter(line -> line.contains("MemTotal:"))
            .mapToLong(line -> Long.parseLong(line.replaceAll(".*: *(\\d+) kB", "$1")))
            .sum();
    PoolOptions options = PoolOptions.onNodes(kibibytes << 10, 1, false);
    PoolException e = assertThrows(PoolException.class, () -> ColumnPool.open(options));
    assertEquals(Errno.ENOMEM, e.errno(), e.getMessage());
    assertTrue(e.getMessage().contains("a node has not that much memory"), e.getMessage());
  }

  private static boolean opens(PoolOptions options) {
    try (ColumnPool other = ColumnPool.open(options)) {
      return other.stats().capacityBytes() > 0;
    } catch (PoolException e) {
      return false;
    }
  }
}
