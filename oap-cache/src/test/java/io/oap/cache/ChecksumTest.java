package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.pool.PoolFaults;
import io.oap.cache.pool.Reservation;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A chunk has its checksum with it, and a changed byte is noticed. */
class ChecksumTest {
  private final ColumnPool pool = RestingPool.open(1 << 16);
  private final SyntheticFile file = new SyntheticFile(3);

  @AfterEach
  void nothingIsLeftBehind() {
    RestingPool.close(pool);
  }

  private boolean isRight(ChunkKey key) {
    try (Pin pin = pool.pin(key)) {
      return Checksum.isRight(pin);
    }
  }

  @Test
  void loadedChunk_isRight_untilAByteChanges() throws IOException {
    ChunkRequest a = file.chunk(0, 4, 1000);
    ChunkRequest b = file.chunk(1, 5000, 1);
    new ChunkCache(pool, 10_000, id -> null, null, LowerTier.NONE)
        .get(List.of(a, b), file, new ReadContext(new CacheCounters()))
        .close();
    assertTrue(isRight(a.key()) && isRight(b.key()));
    PoolFaults.damage(pool, b.key());
    assertTrue(isRight(a.key()));
    assertFalse(isRight(b.key()));
  }

  @Test
  void reservationWithItsSum_isRight_oneWithoutIsNot() {
    for (boolean isSet : new boolean[] {true, false}) {
      ChunkKey key = file.chunk(isSet ? 2 : 3, 0, 100).key();
      try (Reservation room = pool.reserve(key, 100)) {
        for (int i = 0; i < room.pieces(); i++) {
          ByteBuffer piece = room.piece(i);
          while (piece.hasRemaining()) {
            piece.put((byte) piece.position());
          }
        }
        if (isSet) {
          room.setNote(Checksum.of(room));
        }
        room.publish().close();
      }
      assertEquals(isSet, isRight(key));
    }
  }
}
