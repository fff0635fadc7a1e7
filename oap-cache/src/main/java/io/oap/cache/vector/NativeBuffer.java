package io.oap.cache.vector;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Off-heap memory that values are put into and taken from, at a multiple of 64 bytes. It lives as
 * long as this object is reachable: whoever uses {@link #address} keeps a reference meanwhile. For
 * use by one thread at a time.
 */
public final class NativeBuffer {

  private static final int ALIGNMENT = 64;

  private final ByteBuffer buffer;
  private final long address;

  /**
   * Zeroed memory.
   *
   * @param bytes at least 0
   */
  public NativeBuffer(int bytes) {
    VectorException.ensureLoaded();
    ByteBuffer memory = ByteBuffer.allocateDirect(bytes + ALIGNMENT);
    int before = (ALIGNMENT - memory.alignmentOffset(0, ALIGNMENT)) % ALIGNMENT;
    buffer = memory.slice(before, bytes).order(ByteOrder.nativeOrder());
    address = NativeVector.address(buffer);
  }

  /** Where it begins. */
  public long address() {
    return address;
  }

  /** A view of all of it in native byte order; always the same object. */
  public ByteBuffer buffer() {
    return buffer;
  }
}
