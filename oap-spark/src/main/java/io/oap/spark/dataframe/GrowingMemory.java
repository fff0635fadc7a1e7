package io.oap.spark.dataframe;

import io.oap.cache.vector.NativeBuffer;

/** Memory outside the heap that is used again and again. For one thread. */
final class GrowingMemory {

  /** It grows by its own size, up to so many bytes. */
  private static final long MOST_AHEAD = 16 << 20;

  private NativeBuffer memory;

  /** At least so many bytes, with anything in them. */
  NativeBuffer of(long bytes) {
    if (memory == null || memory.buffer().capacity() < bytes) {
      long doubled = memory == null ? 0 : Math.min(2L * memory.buffer().capacity(), MOST_AHEAD);
      memory = new NativeBuffer(Math.toIntExact(Math.max(bytes, doubled)));
    }
    return memory;
  }
}
