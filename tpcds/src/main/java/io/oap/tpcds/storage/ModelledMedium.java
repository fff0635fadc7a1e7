package io.oap.tpcds.storage;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A model of a pool's medium that this machine does not have: how much longer reading from the pool
 * would take there than from DRAM. The pool itself is not touched; who asks waits, after a query,
 * for what its reads would have cost in addition. All callers of a JVM share the bandwidth.
 *
 * <p>It is a model of bandwidth and of the latency of each chunk's first access and nothing else:
 * reads do not overlap with computation, and writes cost nothing. Thread-safe.
 */
public final class ModelledMedium {

  /** Bytes per second that DRAM gives a core when all cores of a socket read. */
  private static final double DRAM_PER_CORE = 105.9e9 / 56;

  /**
   * Intel Optane DC persistent memory, six modules a socket with 56 threads, against DRAM: 39.4 and
   * 105.9 GB/s, 305 and 81 ns; figures of Izraelevitz et al., "Basic Performance Measurements of
   * the Intel Optane DC Persistent Memory Module", arXiv:1903.05714 (2019).
   */
  private static final String PMEM = "pmem";

  /** Media that can be modelled. */
  public static final List<String> NAMES = List.of(PMEM);

  private static final Map<Integer, ModelledMedium> PMEM_OF_THIS_JVM = new ConcurrentHashMap<>();

  private final TokenBucket bucket;
  private final double nanosPerChunk;
  private final TokenBucket.Clock clock;

  ModelledMedium(
      double bytesPerSecondPerCore, double nanosPerChunk, int cores, TokenBucket.Clock clock) {
    // What a byte takes longer than in DRAM, as a bandwidth.
    double additional = 1 / (1 / bytesPerSecondPerCore - 1 / DRAM_PER_CORE);
    this.bucket = new TokenBucket(additional * cores, 0, clock);
    this.nanosPerChunk = nanosPerChunk;
    this.clock = clock;
  }

  /**
   * Returns the medium of this JVM.
   *
   * @param cores that read at the same time
   * @throws IllegalArgumentException when there is no model of this name
   */
  public static ModelledMedium named(String name, int cores) {
    if (!name.equals(PMEM)) {
      throw new IllegalArgumentException("no model of a medium: " + name);
    }
    return PMEM_OF_THIS_JVM.computeIfAbsent(
        cores, n -> new ModelledMedium(39.4e9 / 56, 305 - 81, n, TokenBucket.SYSTEM_CLOCK));
  }

  /** Waits for what these reads would have taken longer than from DRAM. */
  public void read(long bytes, long chunks) throws IOException {
    TokenBucket.pause(Math.round(chunks * nanosPerChunk), clock);
    bucket.take(bytes);
  }
}
