package io.oap.cache;

import io.oap.cache.pool.Pin;
import io.oap.cache.vector.VectorChunk;
import java.util.function.Consumer;

/** A vector chunk of the pool in the hands of one reader, pinned. For one thread at a time. */
public final class HeldVector implements AutoCloseable {
  private final Pin pin;
  private final VectorChunk chunk;
  private final Consumer<Pin> unpin;

  HeldVector(Pin pin, VectorChunk chunk, Consumer<Pin> unpin) {
    this.pin = pin;
    this.chunk = chunk;
    this.unpin = unpin;
  }

  /** The chunk; what it gives addresses of is good until {@link #close}. */
  public VectorChunk chunk() {
    return chunk;
  }

  /** Length of the chunk in the pool. */
  public long bytes() {
    return pin.bytes();
  }

  /** Ends the pin. Closing again does nothing. */
  @Override
  public void close() {
    chunk.close();
    unpin.accept(pin);
  }
}
