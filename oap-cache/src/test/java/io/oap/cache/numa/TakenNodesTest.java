package io.oap.cache.numa;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.NativeLibrary;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Which node an executor takes, where others have taken some. */
class TakenNodesTest {
  private static final long SEED = Long.getLong("oap.seed", System.nanoTime());

  /** Of this test alone: the names are those of the host. */
  private static final String FAMILY = "oap-numa-test-" + ProcessHandle.current().pid();

  @BeforeAll
  static void load() {
    NativeLibrary.ensureLoaded();
  }

  private static BitSet nodes(int... numbers) {
    BitSet set = new BitSet();
    for (int number : numbers) {
      set.set(number);
    }
    return set;
  }

  @Test
  void leastTaken_ofEqualOnes_isTheNext() {
    BitSet all = nodes(0, 2, 5);
    assertEquals(2, TakenNodes.leastTaken(all, Map.of(), 1));
    assertEquals(5, TakenNodes.leastTaken(all, Map.of(), 3));
    assertEquals(0, TakenNodes.leastTaken(all, Map.of(), 6));
    assertEquals(5, TakenNodes.leastTaken(all, Map.of(2, nodes(0)), 1));
    assertEquals(0, TakenNodes.leastTaken(all, Map.of(2, nodes(3), 5, nodes(0)), 1));
    assertEquals(2, TakenNodes.leastTaken(nodes(2), Map.of(2, nodes(0, 1, 2)), 0));
  }

  /** Executors come and go; whoever comes takes a node that no other candidate has fewer of. */
  @Test
  void leastTaken_isAsInAModel() {
    Random random = new Random(SEED);
    for (int run = 0; run < 200; run++) {
      Map<Integer, BitSet> taken = new HashMap<>();
      Map<Integer, Integer> counts = new HashMap<>();
      for (int step = 0; step < 100; step++) {
        BitSet candidates = BitSet.valueOf(new long[] {1 + random.nextInt(255)});
        int node = TakenNodes.leastTaken(candidates, taken, random.nextInt(9));
        int fewest =
            candidates.stream().map(other -> counts.getOrDefault(other, 0)).min().orElseThrow();
        assertTrue(candidates.get(node), "seed " + SEED);
        assertEquals(fewest, counts.getOrDefault(node, 0), "seed " + SEED);
        BitSet numbers = taken.computeIfAbsent(node, any -> new BitSet());
        numbers.set(numbers.nextClearBit(0));
        counts.merge(node, 1, Integer::sum);
        int leaving = random.nextInt(8);
        if (counts.getOrDefault(leaving, 0) > 0) {
          BitSet some = taken.get(leaving);
          some.clear(some.stream().skip(random.nextInt(some.cardinality())).findFirst().orElse(0));
          counts.merge(leaving, -1, Integer::sum);
        }
      }
    }
  }

  @Test
  void listed_namesOfOurs_areRead() {
    Stream<String> lines =
        Stream.of(
            "Num       RefCount Protocol Flags    Type St Inode Path",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23110 @oap-numa/1/0",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23111 @oap-numa/1/3",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23112 @oap-numa/0/0",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23113 @oap-numa/a/0",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23114 @oap-numa-x/2/0",
            "0000000000000000: 00000002 00000000 00000000 0002 01 23115 /run/@oap-numa/3/0",
            "0000000000000000: 00000003 00000000 00000000 0001 03 23116");
    assertEquals(Map.of(0, nodes(0), 1, nodes(0, 3)), TakenNodes.listed(lines, "oap-numa"));
  }

  @Test
  void nodes_thatAreGivenBack_areTakenAgain() {
    List<TakenNodes.Taken> taken = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      taken.add(TakenNodes.take(nodes(0, 1), FAMILY));
    }
    assertEquals(3, taken.stream().filter(one -> one.node() == 0).count());
    taken.stream().filter(one -> one.node() == 1).forEach(TakenNodes.Taken::close);
    taken.removeIf(one -> one.node() == 1);
    for (int i = 0; i < 3; i++) {
      taken.add(TakenNodes.take(nodes(0, 1), FAMILY));
      assertEquals(1, taken.get(taken.size() - 1).node());
    }
    taken.forEach(TakenNodes.Taken::close);
  }

  @Test
  void many_atOnce_areSpread() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(8);
    List<Future<TakenNodes.Taken>> all = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      all.add(threads.submit(() -> TakenNodes.take(nodes(3, 4), FAMILY)));
    }
    int third = 0;
    for (Future<TakenNodes.Taken> one : all) {
      third += one.get().node() == 3 ? 1 : 0;
      assertTrue(one.get().file() >= 0);
    }
    // Two that look at the same time may both find the same counts, and take different nodes.
    assertTrue(third >= 16 && third <= 24, third + " of 40");
    for (Future<TakenNodes.Taken> one : all) {
      one.get().close();
    }
    threads.shutdown();
  }
}
