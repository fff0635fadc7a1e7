package io.oap.cache;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Pin;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The chunks one reader has in its hands: their bytes, and the pins that keep those of them that
 * lie in the pool. The buffers must not be read after {@link #close}. Not thread-safe.
 */
public final class PinnedChunks implements AutoCloseable {
  private final List<ChunkRequest> requests;
  private final ChunkCache cache;
  private final ByteBuffer[] buffers;
  private final Pin[] pins;

  /**
   * By index: the checksum that a chunk was published with that was copied from the pool; else 0.
   */
  private final long[] checksums;

  PinnedChunks(List<ChunkRequest> requests, ChunkCache cache) {
    this.requests = requests;
    this.cache = cache;
    buffers = new ByteBuffer[requests.size()];
    pins = new Pin[requests.size()];
    checksums = new long[requests.size()];
  }

  /** The bytes of the request at {@code index}, between position and limit; not to be written. */
  public ByteBuffer buffer(int index) {
    return buffers[index].duplicate();
  }

  /** The chunks, in the order of their buffers. */
  public List<ChunkRequest> requests() {
    return requests;
  }

  void put(int index, ByteBuffer bytes) {
    buffers[index] = bytes;
  }

  /**
   * Takes over a pin, also where it fails. A chunk in one piece is read where it lies, one in
   * several is copied.
   */
  void put(int index, Pin pin) {
    pins[index] = pin;
    if (pin.pieces() == 1) {
      buffers[index] = pin.piece(0);
      return;
    }
    ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(pin.bytes()));
    pin.copyTo(copy);
    buffers[index] = copy.flip();
    checksums[index] = pin.note();
    unpin(index);
  }

  /**
   * Drops the chunks whose bytes came from the pool and are not those they were published with.
   * Reads all that came from there. Not to be called after {@link #close}.
   *
   * @return whether there are any; their buffers stay as they are
   */
  public boolean dropDamaged() {
    boolean isDamaged = false;
    for (int i = 0; i < buffers.length; i++) {
      if (isDamaged(i)) {
        cache.dropDamaged(requests.get(i).key());
        isDamaged = true;
      }
    }
    return isDamaged;
  }

  private boolean isDamaged(int index) {
    Pin pin = pins[index];
    if (pin != null && !pin.isReadable()) {
      return true;
    }
    long checksum = pin == null ? checksums[index] : pin.note();
    return checksum != 0 && checksum != Checksum.of(buffers[index]);
  }

  /** Ends all pins. Closing again does nothing. */
  @Override
  public void close() {
    Steps.runAll(pins.length, this::unpin);
  }

  private void unpin(int index) {
    Pin pin = pins[index];
    pins[index] = null;
    if (pin != null) {
      cache.unpin(pin);
    }
  }
}
