package io.oap.cache.pool;

import io.oap.common.NodeNumbers;
import io.oap.common.OapConfig;
import io.oap.common.PoolTiers;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * How a pool is made.
 *
 * @param capacityBytes bytes for chunks, divided evenly over paths or nodes and rounded down to
 *     whole pages; at least 65536 in each
 * @param medium where the chunks lie
 * @param paths directories ({@link Medium#FILE}, {@link Medium#FSDAX}) or devices ({@link
 *     Medium#DEVDAX}). In a directory the pool is an unnamed file that disappears with the process,
 *     also when that is killed, unless keepSeconds says otherwise
 * @param nodes memory nodes, bit n for node n. For {@link Medium#NODE} those it lies on, 0 for the
 *     node that the opening thread runs on; for {@link Medium#DRAM} those it lies on as far as they
 *     have room, 0 for wherever the system puts it
 * @param interleaved whether {@link Medium#NODE} spreads page by page over the nodes instead of
 *     placing a part on each
 * @param prefaulted whether a thread touches all memory in the background ({@link Medium#DRAM},
 *     {@link Medium#NODE}); else it comes as it is first used
 * @param erased whether devices ({@link Medium#DEVDAX}) are overwritten with zeros when the pool is
 *     opened and when it is closed, also when the JVM ends in order; that takes as long as writing
 *     them
 * @param keepSeconds for how long a pool in files that nobody uses any more is kept for the next
 *     process, which takes it over with its chunks; 0: it goes with its process
 * @param shared whether processes of this user that open it so have it together; it is kept, too
 * @param policy which chunks are evicted: "s3fifo" (the default, also for null), "generations" or
 *     "lru"
 * @param shards independent parts, a power of two, or 0 to choose by capacity
 */
public record PoolOptions(
    long capacityBytes,
    Medium medium,
    List<Path> paths,
    long nodes,
    boolean interleaved,
    boolean prefaulted,
    boolean erased,
    int keepSeconds,
    boolean shared,
    String policy,
    int shards) {

  /** As in native/include/oap_pool.h. */
  private static final int MOST_PATHS = 16;

  private static final String SHARED_POLICY = "s3fifo";
  private static final String INTERLEAVE = "interleave:";

  public PoolOptions {
    if (capacityBytes < 0 || shards < 0) {
      throw new IllegalArgumentException(
          "capacity and shards are not negative, got " + capacityBytes + " and " + shards);
    }
    if (medium.isOnPaths() == paths.isEmpty()) {
      throw new IllegalArgumentException(
          medium.isOnPaths()
              ? "a pool on " + medium + " needs a path"
              : "a pool on " + medium + " has no path, got " + paths);
    }
    if (paths.size() > MOST_PATHS) {
      throw new IllegalArgumentException(
          OapConfig.POOL_PATH.key()
              + ": a pool has at most "
              + MOST_PATHS
              + " paths, got "
              + paths.size());
    }
    if (keepSeconds > 0 && medium != Medium.FILE && medium != Medium.FSDAX) {
      throw new IllegalArgumentException(
          (shared ? OapConfig.POOL_SHARED : OapConfig.POOL_REOPEN).key()
              + " is for pools in files: set "
              + OapConfig.POOL_PATH.key()
              + " to a directory");
    }
    if (shared && policy != null && !policy.equals(SHARED_POLICY)) {
      throw new IllegalArgumentException(
          OapConfig.POOL_SHARED.key()
              + " goes with "
              + OapConfig.POOL_POLICY.key()
              + "="
              + SHARED_POLICY
              + ", not "
              + policy);
    }
    paths = List.copyOf(paths);
  }

  /** A pool in anonymous memory. */
  public static PoolOptions anonymous(long capacityBytes) {
    return new PoolOptions(
        capacityBytes, Medium.DRAM, List.of(), 0, false, false, false, 0, false, null, 0);
  }

  /** A pool in an unnamed file of this directory. */
  public static PoolOptions inDirectory(long capacityBytes, Path directory) {
    return onPaths(capacityBytes, Medium.FILE, List.of(directory));
  }

  /** A pool in directories or on devices. */
  public static PoolOptions onPaths(long capacityBytes, Medium medium, List<Path> paths) {
    return new PoolOptions(capacityBytes, medium, paths, 0, false, false, false, 0, false, null, 0);
  }

  /** A pool on memory nodes. */
  public static PoolOptions onNodes(long capacityBytes, long nodes, boolean interleaved) {
    return new PoolOptions(
        capacityBytes, Medium.NODE, List.of(), nodes, interleaved, false, false, 0, false, null, 0);
  }

  /** Returns these options, with memory that is touched in the background. */
  public PoolOptions withPrefault() {
    return with(true, erased, keepSeconds, shared, policy, shards);
  }

  /** Returns these options, for a pool that leaves nothing on its devices. */
  public PoolOptions withErasure() {
    return with(prefaulted, true, keepSeconds, shared, policy, shards);
  }

  /** Returns these options, for a pool in files that the next process takes over. */
  public PoolOptions withReopening(int seconds) {
    return with(prefaulted, erased, seconds, shared, policy, shards);
  }

  /**
   * Returns these options, for a pool in files that processes have together.
   *
   * @param seconds as {@link #keepSeconds}
   */
  public PoolOptions withSharing(int seconds) {
    return with(prefaulted, erased, seconds, true, policy, shards);
  }

  /** Returns these options with another policy. */
  public PoolOptions withPolicy(String name) {
    return with(prefaulted, erased, keepSeconds, shared, name, shards);
  }

  /** Returns these options with so many shards. */
  public PoolOptions withShards(int count) {
    return with(prefaulted, erased, keepSeconds, shared, policy, count);
  }

  /** Returns these options, for a pool in anonymous memory that prefers these nodes; 0: none. */
  public PoolOptions preferring(long preferred) {
    return new PoolOptions(
        capacityBytes,
        medium,
        paths,
        preferred,
        false,
        prefaulted,
        erased,
        keepSeconds,
        shared,
        policy,
        shards);
  }

  /** A pool in the same place. */
  private PoolOptions with(
      boolean prefaulted,
      boolean erased,
      int keepSeconds,
      boolean shared,
      String policy,
      int shards) {
    return new PoolOptions(
        capacityBytes,
        medium,
        paths,
        nodes,
        interleaved,
        prefaulted,
        erased,
        keepSeconds,
        shared,
        policy,
        shards);
  }

  /**
   * What a configuration asks for.
   *
   * @param lookup returns the text set for a key, or null when it is not set
   * @throws IllegalArgumentException naming the key that is wrong
   */
  public static PoolOptions of(Function<String, String> lookup) {
    String mediumName = OapConfig.POOL_MEDIUM.get(lookup);
    List<Path> paths =
        Arrays.stream(OapConfig.POOL_PATH.get(lookup).split(","))
            .map(String::trim)
            .filter(text -> !text.isEmpty())
            .map(Path::of)
            .toList();
    Medium medium =
        mediumName.equals("auto")
            ? (paths.isEmpty() ? Medium.DRAM : Medium.FILE)
            : Medium.valueOf(mediumName.toUpperCase(Locale.ROOT));
    if (medium.isOnPaths() == paths.isEmpty()) {
      throw new IllegalArgumentException(
          OapConfig.POOL_MEDIUM.key()
              + "="
              + mediumName
              + (medium.isOnPaths() ? " needs " : " does not go with ")
              + OapConfig.POOL_PATH.key());
    }
    long memory = memoryOfTiers(medium, mediumName, lookup);
    String nodes = medium == Medium.NODE ? OapConfig.POOL_NODES.get(lookup) : "";
    boolean interleaved = nodes.startsWith(INTERLEAVE);
    return new PoolOptions(
        memory > 0 ? memory : OapConfig.POOL_SIZE.get(lookup),
        medium,
        paths,
        NodeNumbers.parse(interleaved ? nodes.substring(INTERLEAVE.length()) : nodes),
        interleaved,
        OapConfig.POOL_PREFAULT.get(lookup),
        OapConfig.POOL_ERASE.get(lookup),
        keepSeconds(lookup),
        OapConfig.POOL_SHARED.get(lookup),
        OapConfig.POOL_POLICY.get(lookup),
        0);
  }

  /** Size of the tier in memory; 0: there are no tiers, or that one is left out. */
  private static long memoryOfTiers(
      Medium medium, String mediumName, Function<String, String> lookup) {
    PoolTiers tiers = OapConfig.POOL_TIERS.get(lookup);
    if (OapConfig.POOL_SHARED.get(lookup) && !tiers.folder().isEmpty()) {
      throw new IllegalArgumentException(
          OapConfig.POOL_SHARED.key() + " does not go with " + OapConfig.POOL_TIERS.key());
    }
    long memory = tiers.memoryBytes();
    if (memory > 0 && medium != Medium.DRAM) {
      throw new IllegalArgumentException(
          OapConfig.POOL_TIERS.key()
              + ": dram does not go with "
              + OapConfig.POOL_MEDIUM.key()
              + "="
              + mediumName
              + "; leave dram out, and set "
              + OapConfig.POOL_SIZE.key());
    }
    return memory;
  }

  private static int keepSeconds(Function<String, String> lookup) {
    long seconds = TimeUnit.MILLISECONDS.toSeconds(OapConfig.POOL_REOPEN_WITHIN.get(lookup));
    return OapConfig.POOL_REOPEN.get(lookup) || OapConfig.POOL_SHARED.get(lookup)
        ? (int) Math.max(1, Math.min(seconds, Integer.MAX_VALUE))
        : 0;
  }

  /** Where the chunks lie, in words: "anonymous memory", "a file in /mnt/pmem0". */
  public String place() {
    if (medium == Medium.NODE && nodes == 0) {
      return "memory of the node that it is opened on";
    }
    String place = medium.phrase();
    if (medium.isOnPaths()) {
      place += " " + paths.stream().map(Path::toString).collect(Collectors.joining(", "));
    }
    return nodes == 0
        ? place
        : place
            + (medium == Medium.DRAM ? ", as far as it has room on node " : " ")
            + nodeNumbers();
  }

  /** The numbers of {@link #nodes}, separated by commas. */
  public String nodeNumbers() {
    return NodeNumbers.text(nodes);
  }

  /**
   * Opens a native pool with these options.
   *
   * @param pool gets its address
   * @return 0 or a negative errno
   */
  int openNative(long[] pool) {
    StringBuilder text = new StringBuilder();
    paths.forEach(path -> text.append(path).append('\0'));
    return NativePool.open(
        capacityBytes,
        medium.ordinal(),
        text.toString().getBytes(PoolOrigin.fileNames()),
        paths.size(),
        nodes,
        interleaved,
        prefaulted,
        erased,
        keepSeconds,
        shared,
        policy,
        shards,
        pool);
  }
}
