package io.oap.cache.numa;

import io.oap.cache.pool.Errno;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which nodes the executors of a host have taken. Each executor holds an abstract socket whose name
 * has the node, and the lowest number that no other executor of that node has. The kernel gives a
 * name to one process only and takes it back when that ends, however it does; so two that choose at
 * once notice it, and there is nothing to clean up. Containers with a network of their own see
 * themselves alone.
 */
final class TakenNodes {
  private static final Logger LOG = LoggerFactory.getLogger(TakenNodes.class);
  private static final Path SOCKETS = Path.of("/proc/net/unix");

  /** More executors than that have no room on a host. */
  private static final int MOST_TRIES = 10_000;

  /**
   * A node that this process has taken.
   *
   * @param file the socket's descriptor; -1 where the others could not be told
   */
  record Taken(int node, int file) implements AutoCloseable {
    @Override
    public void close() {
      if (file >= 0) {
        NativeNuma.giveBack(file);
      }
    }
  }

  private TakenNodes() {}

  /**
   * Takes the node that the fewest have.
   *
   * @param candidates at least one
   * @param family what names begin with: oap-numa, but in tests
   */
  static Taken take(BitSet candidates, String family) {
    Map<Integer, BitSet> taken = listed(family);
    int first = ThreadLocalRandom.current().nextInt(candidates.length());
    int node = leastTaken(candidates, taken, first);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
      node = leastTaken(candidates, taken, first);
      int number = taken.getOrDefault(node, new BitSet()).nextClearBit(0);
      int file = NativeNuma.takeName(family + "/" + node + "/" + number);
      if (file >= 0) {
        return new Taken(node, file);
      }
      if (file != -Errno.EADDRINUSE) {
        LOG.debug("Other executors are not told of the memory node: error {}", -file);
        break;
      }
      taken.computeIfAbsent(node, any -> new BitSet()).set(number);
    }
    return new Taken(node, -1);
  }

  /**
   * Chooses the candidate that the fewest have taken, of equal ones the next from a number on.
   *
   * @param taken numbers of those that have taken a node, by node
   */
  static int leastTaken(BitSet candidates, Map<Integer, BitSet> taken, int first) {
    int best = -1;
    int fewest = Integer.MAX_VALUE;
    int[] from = candidates.stream().filter(node -> node >= first).toArray();
    int[] before = candidates.stream().filter(node -> node < first).toArray();
    for (int[] part : new int[][] {from, before}) {
      for (int node : part) {
        int count = taken.getOrDefault(node, new BitSet()).cardinality();
        if (count < fewest) {
          best = node;
          fewest = count;
        }
      }
    }
    return best;
  }

  /** What the kernel lists now; nothing where it does not. */
  private static Map<Integer, BitSet> listed(String family) {
    // Other programs' names may have any bytes.
    try (Stream<String> lines = Files.lines(SOCKETS, StandardCharsets.ISO_8859_1)) {
      return listed(lines, family);
    } catch (IOException | RuntimeException e) {
      LOG.debug("The sockets of the host cannot be listed", e);
      return new HashMap<>();
    }
  }

  /** Reads lines of /proc/net/unix, in which an abstract name begins with an @. */
  static Map<Integer, BitSet> listed(Stream<String> lines, String family) {
    Pattern ours = Pattern.compile(" @" + Pattern.quote(family) + "/(\\d{1,2})/(\\d{1,4})$");
    Map<Integer, BitSet> taken = new HashMap<>();
    lines.forEach(
        line -> {
          Matcher matcher = ours.matcher(line);
          if (matcher.find()) {
            taken
                .computeIfAbsent(Integer.parseInt(matcher.group(1)), any -> new BitSet())
                .set(Integer.parseInt(matcher.group(2)));
          }
        });
    return taken;
  }
}
