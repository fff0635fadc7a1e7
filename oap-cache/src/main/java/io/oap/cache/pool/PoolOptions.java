package io.oap.cache.pool;

import java.nio.file.Path;
import java.util.Objects;

/**
 * How a pool is made.
 *
 * @param capacityBytes bytes for chunks, rounded down to whole pages; at least 65536
 * @param file a directory, or null for anonymous memory. In a directory, the pool is an unnamed
 *     file whose whole space is reserved when it is opened; it disappears with the process, also
 *     when that is killed
 * @param policy which chunks are evicted: "s3fifo" (the default, also for null), "generations" or
 *     "lru"
 * @param shards independent parts, a power of two, or 0 to choose by capacity
 */
public record PoolOptions(long capacityBytes, Path file, String policy, int shards) {

  public PoolOptions {
    if (capacityBytes < 0 || shards < 0) {
      throw new IllegalArgumentException(
          "capacity and shards are not negative, got " + capacityBytes + " and " + shards);
    }
  }

  /** A pool with the default policy. */
  public PoolOptions(long capacityBytes, Path file) {
    this(capacityBytes, file, null, 0);
  }

  /** A pool in anonymous memory. */
  public static PoolOptions anonymous(long capacityBytes) {
    return new PoolOptions(capacityBytes, null);
  }

  /** A pool in an unnamed file of this directory. */
  public static PoolOptions inDirectory(long capacityBytes, Path directory) {
    return new PoolOptions(capacityBytes, Objects.requireNonNull(directory, "directory"));
  }
}
