package io.oap.cache.vector;

import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.function.IntFunction;

/** Where the pieces of a chunk lie, as natives take it: address and length in turn. */
final class VectorPieces {

  private VectorPieces() {}

  static long[] of(Pin pin) {
    return of(pin.pieces(), pin::piece);
  }

  static long[] of(Reservation reservation) {
    return of(reservation.pieces(), reservation::piece);
  }

  /** One piece at the beginning of memory. */
  static long[] of(NativeBuffer memory, long bytes) {
    return new long[] {
      memory.address(), Objects.checkIndex(bytes, memory.buffer().capacity() + 1L)
    };
  }

  private static long[] of(int pieces, IntFunction<ByteBuffer> piece) {
    long[] places = new long[2 * pieces];
    for (int i = 0; i < pieces; i++) {
      places[2 * i] = NativeVector.address(piece.apply(i));
      places[2 * i + 1] = piece.apply(i).capacity();
    }
    return places;
  }
}
