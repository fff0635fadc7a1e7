package io.oap.cache.numa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Medium;
import io.oap.cache.pool.PoolOptions;
import io.oap.common.OapConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a process does to keep to nodes; the nodes are not there, the processors are. */
class NumaBindingTest {
  private static final long CAPACITY = 1 << 20;

  @TempDir private Path folder;
  private int[] processors;

  @BeforeEach
  void findProcessors() throws IOException {
    processors = allowed().stream().toArray();
  }

  /** Reads which processors the calling thread may run on. */
  private static BitSet allowed() throws IOException {
    return Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
        .filter(line -> line.startsWith("Cpus_allowed_list:"))
        .map(line -> HostNodes.numbers(line.substring(line.indexOf(':') + 1)))
        .findFirst()
        .orElseThrow();
  }

  private NumaBinding binding(FakeHost host, String bind, String tasks) {
    Map<String, String> settings =
        Map.of(OapConfig.NUMA_BIND.key(), bind, OapConfig.NUMA_TASKS.key(), tasks);
    return NumaBinding.of(settings::get, host.folder(), host.status());
  }

  /** Two nodes with a processor each. */
  private FakeHost twoNodes() throws IOException {
    assumeTrue(processors.length > 1, "one processor only");
    return FakeHost.in(
        folder,
        "0-1",
        processors[0] + "," + processors[1],
        "0-1",
        "" + processors[0],
        "" + processors[1]);
  }

  private static BitSet allowedAfter(NumaBinding binding) {
    return CompletableFuture.supplyAsync(
            () -> {
              try {
                binding.bindThread();
                binding.bindThread();
                return allowed();
              } catch (IOException e) {
                throw new IllegalStateException(e);
              }
            },
            task -> new Thread(task).start())
        .join();
  }

  @Test
  void threads_runOnProcessorsOfTheNode() throws IOException {
    try (NumaBinding binding = binding(twoNodes(), "1", "true")) {
      assertEquals(2, binding.nodes());
      assertEquals(BitSet.valueOf(new long[] {1L << processors[1]}), allowedAfter(binding));
      // Node 1 is none of the machine, so its policy is refused; threads go to processors anyway.
      assertEquals(BitSet.valueOf(new long[] {1L << processors[1]}), allowedAfter(binding));
    }
    assertEquals(processors.length, allowed().cardinality());
  }

  @Test
  void threads_areLeftAlone() throws IOException {
    for (String[] settings : new String[][] {{"off", "true"}, {"1", "false"}, {"7", "true"}}) {
      try (NumaBinding binding = binding(twoNodes(), settings[0], settings[1])) {
        assertEquals(settings[0].equals("1") ? 2 : 0, binding.nodes());
        assertEquals(processors.length, allowedAfter(binding).cardinality());
      }
    }
  }

  @Test
  void auto_eachExecutor_takesAnotherNode() throws IOException {
    FakeHost host = twoNodes();
    for (int i = 0; i < 10; i++) {
      try (NumaBinding one = binding(host, "auto", "true");
          NumaBinding other = binding(host, "auto", "true")) {
        assertEquals(1, Long.bitCount(one.nodes()));
        assertNotEquals(one.nodes(), other.nodes());
      }
    }
  }

  @Test
  void auto_whereThereIsNoChoice_bindsNothing() throws IOException {
    String all = processors[0] + "";
    assertEquals(0, binding(FakeHost.in(folder, "0", all, "0", all), "auto", "true").nodes());
    FakeHost apart = FakeHost.in(folder, "0", all, "0-1", "", all);
    assertEquals(0, binding(apart, "auto", "true").nodes());
    assertEquals(
        0, binding(new FakeHost(folder.resolve("no"), apart.status()), "0", "true").nodes());
  }

  /** The kernel refuses the node as it would in a container that forbids mbind. */
  @Test
  void pool_thatIsRefused_isOpenedElsewhere() throws IOException {
    String[] none = IntStream.range(0, 64).mapToObj(i -> "").toArray(String[]::new);
    none[63] = "" + processors[0];
    FakeHost host = FakeHost.in(folder, "63", "" + processors[0], "0-63", none);
    try (NumaBinding binding = binding(host, "63", "true")) {
      assertEquals(1L << 63, binding.nodes());
      assertNull(binding.openPool(PoolOptions.anonymous(CAPACITY)));
    }
  }

  @Test
  void pool_thatLiesElsewhereAnyway_isNotOpened() throws IOException {
    assumeTrue(Files.exists(Path.of("/sys/devices/system/node/node0")), "a kernel without nodes");
    FakeHost host = FakeHost.in(folder, "0", "" + processors[0], "0", "" + processors[0]);
    try (NumaBinding binding = binding(host, "0", "true")) {
      assertNull(binding.openPool(PoolOptions.onNodes(CAPACITY, 1, false)));
      Path here = Files.createDirectory(folder.resolve("pool"));
      assertNull(binding.openPool(PoolOptions.onPaths(CAPACITY, Medium.FILE, List.of(here))));
      try (ColumnPool pool = binding.openPool(PoolOptions.anonymous(CAPACITY))) {
        assumeTrue(pool != null, "this system binds no memory");
        assertTrue(pool.bytesOnNodes().keySet().stream().allMatch(node -> node == 0));
      }
    }
  }
}
