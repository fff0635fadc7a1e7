package io.oap.cache.numa;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Medium;
import io.oap.cache.pool.NativeLibrary;
import io.oap.cache.pool.PoolException;
import io.oap.cache.pool.PoolOptions;
import io.oap.common.NodeNumbers;
import io.oap.common.OapConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory nodes that this process keeps to, as {@code spark.oap.numa.bind} says. What cannot be
 * had of it is said once, and done without. Thread-safe.
 */
public final class NumaBinding implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NumaBinding.class);
  private static final String FAMILY = "oap-numa";

  /** Keeps to none. */
  private static final NumaBinding NONE = new NumaBinding(0, null, null);

  private final long nodes;

  /** Null where threads are left alone. */
  private final long[] processors;

  /** Null where nobody needs to know. */
  private final TakenNodes.Taken taken;

  private final ThreadLocal<Boolean> isBound = ThreadLocal.withInitial(() -> false);
  private final AtomicBoolean isRunningRefused = new AtomicBoolean();
  private final AtomicBoolean isAllocatingRefused = new AtomicBoolean();

  private NumaBinding(long nodes, long[] processors, TakenNodes.Taken taken) {
    this.nodes = nodes;
    this.processors = processors;
    this.taken = taken;
  }

  /**
   * Chooses the nodes. Loads the native library if a configuration wants any.
   *
   * @param lookup text of a configuration key, or null when it is not set
   * @throws IllegalArgumentException naming the key, when a value is not allowed
   */
  public static NumaBinding of(Function<String, String> lookup) {
    return of(lookup, Path.of("/sys/devices/system/node"), Path.of("/proc/self/status"));
  }

  static NumaBinding of(Function<String, String> lookup, Path folder, Path status) {
    String wanted = OapConfig.NUMA_BIND.get(lookup);
    boolean hasTasks = OapConfig.NUMA_TASKS.get(lookup);
    if (wanted.equals("off")) {
      return NONE;
    }
    HostNodes host;
    try {
      host = HostNodes.read(folder, status);
    } catch (IOException | NumberFormatException e) {
      return unbound(wanted, "this system tells of no memory nodes: " + e.getMessage());
    }
    NativeLibrary.ensureLoaded();
    return wanted.equals("auto") ? chosen(host, hasTasks) : listed(host, wanted, hasTasks);
  }

  private static NumaBinding chosen(HostNodes host, boolean hasTasks) {
    if (host.online().cardinality() == 1) {
      LOG.info("{}=auto: this host has one memory node only", OapConfig.NUMA_BIND.key());
      return NONE;
    }
    BitSet candidates = host.usable();
    if (candidates.isEmpty()) {
      return unbound("auto", "no node has both memory and a processor for this process");
    }
    TakenNodes.Taken taken = TakenNodes.take(candidates, FAMILY);
    return bound(host, 1L << taken.node(), hasTasks, taken);
  }

  private static NumaBinding listed(HostNodes host, String wanted, boolean hasTasks) {
    long nodes = NodeNumbers.parse(wanted);
    String refusals =
        bits(nodes).stream()
            .filter(node -> host.refusal(node) != null)
            .mapToObj(node -> "node " + node + " " + host.refusal(node))
            .collect(Collectors.joining(", "));
    return refusals.isEmpty() ? bound(host, nodes, hasTasks, null) : unbound(wanted, refusals);
  }

  private static NumaBinding bound(
      HostNodes host, long nodes, boolean hasTasks, TakenNodes.Taken taken) {
    BitSet processors = host.processorsOf(bits(nodes));
    LOG.info(
        "This process keeps to memory node {}{}",
        NodeNumbers.text(nodes),
        hasTasks ? ", tasks to its processors " + processors : "");
    return new NumaBinding(nodes, hasTasks ? processors.toLongArray() : null, taken);
  }

  private static NumaBinding unbound(String wanted, String why) {
    LOG.warn("{}={} is done without: {}", OapConfig.NUMA_BIND.key(), wanted, why);
    return NONE;
  }

  private static BitSet bits(long nodes) {
    return BitSet.valueOf(new long[] {nodes});
  }

  /** The nodes, bit n for node n; 0: none. */
  public long nodes() {
    return nodes;
  }

  /**
   * Opens a pool in anonymous memory that lies on the nodes as far as they have room.
   *
   * @return null where the pool is to lie elsewhere, or the system refuses this
   */
  public ColumnPool openPool(PoolOptions options) {
    if (nodes == 0 || options.medium() != Medium.DRAM) {
      return null;
    }
    try {
      return ColumnPool.open(options.preferring(nodes));
    } catch (PoolException e) {
      LOG.warn("{}. It is opened without {}.", e.getMessage(), OapConfig.NUMA_BIND.key());
      return null;
    }
  }

  /**
   * Has the calling thread run on processors of the nodes, and have its memory there; it stays so.
   * Costs nothing the second time.
   */
  public void bindThread() {
    if (processors == null || isBound.get()) {
      return;
    }
    isBound.set(true);
    boolean isRunning =
        isDone(
            () -> NativeNuma.runOn(processors),
            isRunningRefused,
            "sched_setaffinity",
            "tasks run on all processors");
    if (isRunning) {
      // Memory follows the processor anyway, unless the process has inherited a policy.
      isDone(
          () -> NativeNuma.allocateOn(nodes),
          isAllocatingRefused,
          "set_mempolicy",
          "tasks run on its processors without it");
    }
  }

  private boolean isDone(IntSupplier call, AtomicBoolean isRefused, String name, String instead) {
    if (isRefused.get()) {
      return false;
    }
    int error = -call.getAsInt();
    if (error != 0 && !isRefused.getAndSet(true)) {
      LOG.warn(
          "The system refuses {} for memory node {}{}; {}",
          name,
          NodeNumbers.text(nodes),
          PoolException.reason(error),
          instead);
    }
    return error == 0;
  }

  /** Lets other executors have the node. Threads stay as they are. */
  @Override
  public void close() {
    if (taken != null) {
      taken.close();
    }
  }
}
