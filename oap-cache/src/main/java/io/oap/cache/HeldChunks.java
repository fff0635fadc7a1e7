package io.oap.cache;

import io.oap.cache.pool.Pin;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The chunks one reader has in its hands: their bytes, and the pins that keep those of them that
 * lie in the pool. The buffers must not be read after {@link #close}. Not thread-safe.
 */
public final class HeldChunks implements AutoCloseable {
  private final ByteBuffer[] buffers;
  private final List<Pin> pins = new ArrayList<>();
  private final Consumer<Pin> unpin;

  /**
   * @param unpin ends a pin, and keeps a fault of the pool from the reader
   */
  HeldChunks(int count, Consumer<Pin> unpin) {
    buffers = new ByteBuffer[count];
    this.unpin = unpin;
  }

  /** The bytes of the request at {@code index}, between position and limit; not to be written. */
  public ByteBuffer buffer(int index) {
    return buffers[index].duplicate();
  }

  void put(int index, ByteBuffer bytes) {
    buffers[index] = bytes;
  }

  /** Takes over a pin. A chunk in one piece is read where it lies, one in several is copied. */
  void put(int index, Pin pin) {
    if (pin.pieces() == 1) {
      pins.add(pin);
      buffers[index] = pin.piece(0);
      return;
    }
    try {
      ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(pin.bytes()));
      for (int i = 0; i < pin.pieces(); i++) {
        copy.put(pin.piece(i));
      }
      buffers[index] = copy.flip();
    } finally {
      unpin.accept(pin);
    }
  }

  /** Ends all pins. Closing again does nothing. */
  @Override
  public void close() {
    pins.forEach(unpin);
    pins.clear();
  }
}
