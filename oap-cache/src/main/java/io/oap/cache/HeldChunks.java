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
  private final Consumer<Throwable> onPoolFault;

  /**
   * @param onPoolFault hears of a pool that fails to end a pin; the reader does not
   */
  HeldChunks(int count, Consumer<Throwable> onPoolFault) {
    buffers = new ByteBuffer[count];
    this.onPoolFault = onPoolFault;
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
      end(pin);
    }
  }

  private void end(Pin pin) {
    try {
      pin.close();
    } catch (RuntimeException | LinkageError e) {
      onPoolFault.accept(e);
    }
  }

  /** Ends all pins. Closing again does nothing. */
  @Override
  public void close() {
    pins.forEach(this::end);
    pins.clear();
  }
}
