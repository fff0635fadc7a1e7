package io.oap.cache.numa;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The memory nodes of this host, and which of them this process may use: those with memory that its
 * cpuset allows, and a processor that its affinity allows. Nodes from 64 on are not looked at.
 *
 * @param online that the host has
 * @param withMemory that have memory
 * @param allowed that the process may have memory on
 * @param processors of each node, those that the process may run on; without nodes that have none
 */
record HostNodes(
    BitSet online, BitSet withMemory, BitSet allowed, SortedMap<Integer, BitSet> processors) {
  private static final int MOST_NODES = 64;

  /**
   * Asks the kernel.
   *
   * @param folder /sys/devices/system/node
   * @param status /proc/self/status: what the process was started with, whatever threads it has
   *     bound since
   * @throws IOException where the kernel knows no nodes
   */
  static HostNodes read(Path folder, Path status) throws IOException {
    BitSet online = numbers(text(folder.resolve("online")));
    online.clear(MOST_NODES, Math.max(MOST_NODES, online.length()));
    BitSet mayRunOn = new BitSet();
    BitSet allowed = new BitSet();
    for (String line : Files.readAllLines(status)) {
      if (line.startsWith("Cpus_allowed_list:")) {
        mayRunOn = numbers(line.substring(line.indexOf(':') + 1));
      } else if (line.startsWith("Mems_allowed_list:")) {
        allowed = numbers(line.substring(line.indexOf(':') + 1));
      }
    }
    SortedMap<Integer, BitSet> processors = new TreeMap<>();
    for (int node : online.stream().toArray()) {
      BitSet some = numbers(text(folder.resolve("node" + node).resolve("cpulist")));
      some.and(mayRunOn);
      if (!some.isEmpty()) {
        processors.put(node, some);
      }
    }
    return new HostNodes(online, numbers(text(folder.resolve("has_memory"))), allowed, processors);
  }

  private static String text(Path file) throws IOException {
    return Files.readString(file);
  }

  /** Reads a list of the kernel's, such as 0-3,8; nothing is none. */
  static BitSet numbers(String list) {
    BitSet numbers = new BitSet();
    for (String part : list.trim().split(",")) {
      if (!part.isEmpty()) {
        String[] ends = part.trim().split("-");
        numbers.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
      }
    }
    return numbers;
  }

  /** The nodes that the process may use. */
  BitSet usable() {
    BitSet usable = new BitSet();
    processors.keySet().forEach(usable::set);
    usable.and(withMemory);
    usable.and(allowed);
    return usable;
  }

  /** Why a node is not among the usable ones; null if it is. */
  String refusal(int node) {
    if (!online.get(node)) {
      return "does not exist";
    }
    if (!withMemory.get(node)) {
      return "has no memory";
    }
    if (!allowed.get(node)) {
      return "has no memory for this process, whose cpuset is another";
    }
    return processors.containsKey(node) ? null : "has no processor for this process";
  }

  /** The processors of these nodes that the process may run on, together. */
  BitSet processorsOf(BitSet nodes) {
    BitSet all = new BitSet();
    nodes.stream().forEach(node -> all.or(processors.getOrDefault(node, new BitSet())));
    return all;
  }
}
