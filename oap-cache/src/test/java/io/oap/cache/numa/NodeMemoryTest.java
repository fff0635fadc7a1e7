package io.oap.cache.numa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.MemoryRange;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.Reservation;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** How memory lies on nodes, by what the kernel and the JVM tell. */
class NodeMemoryTest {
  // What the JVM takes and gives back of its own meanwhile, some megabytes, is little beside it.
  private static final int BYTES = 256 << 20;

  @Test
  void heap_ofEachCollector_isFound() {
    assertEquals(
        List.of(new MemoryRange(0x701000000L, 0x800000000L)),
        NodeMemory.heapIn(
            """
             garbage-first heap   total 256000K, used 2048K [0x0000000701000000, 0x0000000800000000)
              region size 2048K, 1 young (2048K), 0 survivors (0K)
             Metaspace       used 89K, committed 256K, reserved 1114112K
            """));
    assertEquals(
        List.of(
            new MemoryRange(0xc0000000L, 0xd5550000L), new MemoryRange(0xd5550000L, 0x100000000L)),
        NodeMemory.heapIn(
            """
             def new generation   total 4928K, used 447K [0xc0000000, 0xc0550000, 0xd5550000)
             tenured generation   total 10944K, used 0K [0xd5550000, 0xd6000000, 0x100000000)
            """));
    assertEquals(List.of(), NodeMemory.heapIn(" ZHeap           used 6M, capacity 256M"));
  }

  @Test
  void lines_ofTheKernel_areCounted() {
    NodeMemory memory =
        NodeMemory.of(
            Stream.of(
                "00400000 default file=/usr/bin/java mapped=2 N0=2 kernelpagesize_kB=4",
                "01000000 default heap anon=7 dirty=7 N0=3 N1=4 kernelpagesize_kB=4",
                "701000000 default anon=512 dirty=512 N1=512 kernelpagesize_kB=4",
                "701800000 default",
                "7f0000000000 prefer:1 anon=5 dirty=5 N1=5 kernelpagesize_kB=4",
                "7f0040000000 default anon=1 dirty=1 N0=1 kernelpagesize_kB=2048",
                "7ffc00000000 default stack=4 N1=4 kernelpagesize_kB=4"),
            List.of(new MemoryRange(0x701000000L, 0x800000000L)),
            List.of(new MemoryRange(0x7f0000000000L, 0x7f0040000000L)));
    assertEquals(Map.of(1, 512L << 12), memory.heap());
    assertEquals(Map.of(0, (3L << 12) + (2L << 20), 1, 8L << 12), memory.rest());
  }

  private static long sum(Map<Integer, Long> bytes) {
    return bytes.values().stream().mapToLong(some -> some).sum();
  }

  @Test
  void thisProcess_isTold() {
    assumeTrue(Files.isReadable(Path.of("/proc/self/numa_maps")), "a kernel without nodes");
    assertTrue(NodeMemory.heapIn(NodeMemory.heapInfo()).size() > 0, NodeMemory.heapInfo());
    NodeMemory before = NodeMemory.now(List.of());
    long heap = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    assertTrue(sum(before.heap()) > heap / 2, before + ", used " + heap);
    ByteBuffer direct = ByteBuffer.allocateDirect(BYTES);
    NodeMemory after = NodeMemory.now(List.of());
    long grown = sum(after.rest()) - sum(before.rest());
    assertTrue(grown >= BYTES * 0.9 && grown < BYTES * 1.5, grown + " for " + direct.capacity());
  }

  @Test
  void pool_isNotPartOfTheRest() {
    assumeTrue(Files.isReadable(Path.of("/proc/self/numa_maps")), "a kernel without nodes");
    try (ColumnPool pool = ColumnPool.open(PoolOptions.anonymous(2L * BYTES))) {
      try (Reservation room = pool.reserve(ChunkKey.encoded(new FileId(1, 2), 0, 0), BYTES)) {
        for (int i = 0; i < BYTES; i += 4096) {
          room.piece(0).put(i, (byte) 1);
        }
        long without = sum(NodeMemory.now(MemoryRange.of(pool)).rest());
        long with = sum(NodeMemory.now(List.of()).rest());
        assertTrue(with - without >= BYTES * 0.9, with + " and " + without);
      }
    }
  }
}
