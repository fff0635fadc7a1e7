package io.oap.cache;

import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import java.nio.ByteBuffer;
import java.util.function.IntFunction;
import java.util.zip.CRC32C;

/**
 * The checksum that goes into the pool with each chunk, as the chunk's note: the CRC-32C of its
 * bytes, with a bit above that says there is one.
 */
final class Checksum {
  private static final long IS_SET = 1L << 32;

  private Checksum() {}

  /** Computes the checksum of the bytes between position and limit, which stay where they are. */
  static long of(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.duplicate());
    return crc.getValue() | IS_SET;
  }

  /** Computes the checksum of the bytes that were written into a reservation. */
  static long of(Reservation room) {
    return of(room.pieces(), room::piece);
  }

  /** Whether a chunk can be read and has the bytes it was published with. */
  static boolean isRight(Pin pin) {
    return pin.isReadable() && pin.note() == of(pin.pieces(), pin::piece);
  }

  private static long of(int pieces, IntFunction<ByteBuffer> piece) {
    CRC32C crc = new CRC32C();
    for (int i = 0; i < pieces; i++) {
      crc.update(piece.apply(i));
    }
    return crc.getValue() | IS_SET;
  }
}
