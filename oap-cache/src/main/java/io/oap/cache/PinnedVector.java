package io.oap.cache;

import io.oap.cache.pool.Pin;
import io.oap.cache.vector.VectorChunk;
import io.oap.common.ChunkKey;

/** A vector chunk of the pool in the hands of one reader, pinned. For one thread at a time. */
public final class PinnedVector implements AutoCloseable {
  private final ChunkKey key;
  private final Pin pin;
  private final VectorChunk chunk;
  private final boolean wasHeld;
  private final ChunkCache cache;

  PinnedVector(ChunkKey key, Pin pin, VectorChunk chunk, boolean wasHeld, ChunkCache cache) {
    this.key = key;
    this.pin = pin;
    this.chunk = chunk;
    this.wasHeld = wasHeld;
    this.cache = cache;
  }

  /** The chunk; what it gives addresses of is good until {@link #close}. */
  public VectorChunk chunk() {
    return chunk;
  }

  /** Whether the pool had it, and not the tier below. */
  boolean wasHeld() {
    return wasHeld;
  }

  /** Length of the chunk in the pool. */
  public long bytes() {
    return pin.bytes();
  }

  /**
   * Drops the chunk if its bytes are not those it was published with; reads all of them.
   *
   * @return whether it is damaged; it stays readable as it is
   */
  public boolean dropIfDamaged() {
    boolean isDamaged = !Checksum.isRight(pin);
    if (isDamaged) {
      cache.dropDamaged(key);
    }
    return isDamaged;
  }

  /** Drops the chunk, as one that does not hold what its row group has; it stays readable. */
  public void drop() {
    cache.dropDamaged(key);
  }

  /** Ends the pin. Closing again does nothing. */
  @Override
  public void close() {
    try {
      chunk.close();
    } finally {
      cache.unpin(pin);
    }
  }
}
