package io.oap.cache.vector;

import io.oap.cache.pool.Pin;
import io.oap.cache.pool.Reservation;
import java.nio.ByteBuffer;

/** Where the pieces of a chunk lie, as natives take it: address and length in turn. */
final class VectorPieces {

  private VectorPieces() {}

  static long[] of(Pin pin) {
    long[] places = new long[2 * pin.pieces()];
    for (int i = 0; i < pin.pieces(); i++) {
      put(places, i, pin.piece(i));
    }
    return places;
  }

  static long[] of(Reservation reservation) {
    long[] places = new long[2 * reservation.pieces()];
    for (int i = 0; i < reservation.pieces(); i++) {
      put(places, i, reservation.piece(i));
    }
    return places;
  }

  private static void put(long[] places, int i, ByteBuffer piece) {
    places[2 * i] = NativeVector.address(piece);
    places[2 * i + 1] = piece.capacity();
  }
}
