package io.oap.cache.pool;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * Addresses of this process.
 *
 * @param start the first
 * @param end behind the last
 */
public record MemoryRange(long start, long end) {

  /** The address space of a pool; good while that is reachable. */
  public static List<MemoryRange> of(ColumnPool pool) {
    return Arrays.stream(pool.windows).map(MemoryRange::of).toList();
  }

  private static MemoryRange of(ByteBuffer window) {
    long start = NativePool.address(window);
    return new MemoryRange(start, start + window.capacity());
  }

  /** Whether an address is within. */
  public boolean contains(long address) {
    return address >= start && address < end;
  }
}
