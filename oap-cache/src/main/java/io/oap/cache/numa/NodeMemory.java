package io.oap.cache.numa;

import io.oap.cache.pool.MemoryRange;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.management.JMException;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How the anonymous memory of this process beside the pool lies on memory nodes, as numastat tells
 * of a process. Files that are mapped do not count. Both are empty where the system or the garbage
 * collector (ZGC, for one) does not tell.
 *
 * @param heap bytes of the Java heap, by node
 * @param rest bytes of all else, by node: what tasks have off the heap, and what the JVM needs
 */
public record NodeMemory(SortedMap<Integer, Long> heap, SortedMap<Integer, Long> rest) {
  private static final Logger LOG = LoggerFactory.getLogger(NodeMemory.class);
  private static final Path MAPS = Path.of("/proc/self/numa_maps");
  private static final Pattern PAGES = Pattern.compile(" N(\\d+)=(\\d+)");
  private static final Pattern PAGE_SIZE = Pattern.compile(" kernelpagesize_kB=(\\d+)");

  /** What collectors print of a part of the heap: where it begins, may be used to, and ends. */
  private static final Pattern PART =
      Pattern.compile("\\[0x([0-9a-f]+), (?:0x[0-9a-f]+, )?0x([0-9a-f]+)\\)");

  /**
   * Asks the kernel, which looks at every page: takes a second or so for 100 GB.
   *
   * @param pool address space that does not count
   */
  public static NodeMemory now(List<MemoryRange> pool) {
    List<MemoryRange> heap = heapIn(heapInfo());
    if (heap.isEmpty()) {
      return none();
    }
    // Names of files may have any bytes.
    try (Stream<String> lines = Files.lines(MAPS, StandardCharsets.ISO_8859_1)) {
      return of(lines, heap, pool);
    } catch (IOException | RuntimeException e) {
      LOG.debug("Memory on nodes is not known", e);
      return none();
    }
  }

  private static NodeMemory none() {
    return new NodeMemory(new TreeMap<>(), new TreeMap<>());
  }

  /** What GC.heap_info prints; nothing where it is not there. */
  static String heapInfo() {
    try {
      ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
      Object text =
          ManagementFactory.getPlatformMBeanServer()
              .invoke(commands, "gcHeapInfo", new Object[0], new String[0]);
      return String.valueOf(text);
    } catch (JMException | RuntimeException e) {
      LOG.debug("The JVM does not tell where its heap lies", e);
      return "";
    }
  }

  /** Reads what the JVM's diagnostic command GC.heap_info prints. */
  static List<MemoryRange> heapIn(String heapInfo) {
    List<MemoryRange> parts = new ArrayList<>();
    for (Matcher part = PART.matcher(heapInfo); part.find(); ) {
      parts.add(
          new MemoryRange(
              Long.parseUnsignedLong(part.group(1), 16),
              Long.parseUnsignedLong(part.group(2), 16)));
    }
    return parts;
  }

  /** Reads lines of /proc/self/numa_maps, see numa(7). */
  static NodeMemory of(Stream<String> lines, List<MemoryRange> heap, List<MemoryRange> pool) {
    NodeMemory memory = none();
    lines
        .filter(line -> !line.contains(" file="))
        .forEach(
            line -> {
              long start = Long.parseUnsignedLong(line.substring(0, line.indexOf(' ')), 16);
              if (isIn(heap, start)) {
                count(line, memory.heap);
              } else if (!isIn(pool, start)) {
                count(line, memory.rest);
              }
            });
    return memory;
  }

  private static boolean isIn(List<MemoryRange> ranges, long address) {
    return ranges.stream().anyMatch(range -> range.contains(address));
  }

  private static void count(String line, SortedMap<Integer, Long> bytes) {
    Matcher size = PAGE_SIZE.matcher(line);
    long pageBytes = (size.find() ? Long.parseLong(size.group(1)) : 4) << 10;
    for (Matcher pages = PAGES.matcher(line); pages.find(); ) {
      bytes.merge(
          Integer.parseInt(pages.group(1)), Long.parseLong(pages.group(2)) * pageBytes, Long::sum);
    }
  }
}
