package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import java.nio.ByteBuffer;

/**
 * Makes a pool fail, for tests of what stands over it: ends a reservation or a pin behind the back
 * of its owner, so that the owner's next call on it meets the native library's own error.
 */
public final class PoolFaults {
  private PoolFaults() {}

  /** Abandons what this thread reserved last. */
  public static void abandonLastReservation(ColumnPool pool) {
    new Reservation(pool, ChunkStruct.ofThread()).close();
  }

  /** Changes the first byte of a chunk that is held. */
  public static void damage(ColumnPool pool, ChunkKey key) {
    try (Pin pin = pool.pin(key)) {
      ByteBuffer bytes = pin.slice(0, pool.windows);
      bytes.put(0, (byte) ~bytes.get(0));
    }
  }

  /** Has a pool believe that its disk has lost writes. */
  public static void loseWrites(ColumnPool pool) {
    pool.lostWrites.tell();
  }

  /** Unpins what this thread pinned last. */
  public static void unpinLastPin(ColumnPool pool) {
    new Pin(pool, ChunkStruct.ofThread()).close();
  }
}
