package io.oap.cache.quota;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolOptions;
import io.oap.cache.pool.Reservation;
import io.oap.cache.quota.PinnedSet.Outcome;
import io.oap.cache.quota.PinnedSet.Owner;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A chunk stays while it has an owner, has one pin, and counts once. */
class PinnedSetTest {
  private static final int CAPACITY = 1 << 17;
  private static final int PART = CAPACITY / 8;

  private final ColumnPool pool = ColumnPool.open(PoolOptions.anonymous(CAPACITY));
  private final PinnedSet pinned = new PinnedSet(pool);
  private final List<ChunkKey> told = new ArrayList<>();
  private final Owner first = told::add;
  private final Owner second = key -> pinned.unpin(key, second());

  private Owner second() {
    return second;
  }

  @AfterEach
  void nothingIsLeftBehind() {
    pool.validate();
    pool.close();
  }

  private static ChunkKey key(int column) {
    return ChunkKey.encoded(new FileId(1, 2), 0, column);
  }

  private void load(int column) {
    try (Reservation room = pool.reserve(key(column), PART)) {
      room.publish().close();
    }
  }

  @Test
  void chunkOfTwoOwners_staysUntilBothUnpinIt_andCountsOnce() {
    load(0);
    assertEquals(Outcome.PINNED, pinned.pin(key(0), first, PART));
    for (int column = 1; column < 6; column++) {
      load(column);
      assertEquals(Outcome.PINNED, pinned.pin(key(column), second, PART));
    }
    assertEquals(Outcome.PINNED, pinned.pin(key(0), second, PART), "counts once");
    load(6);
    assertEquals(Outcome.FULL, pinned.pin(key(6), first, PART));
    pinned.unpin(key(0), first);
    assertTrue(pinned.has(key(0), second));
    assertEquals(6, pool.stats().pinnedChunks());
    for (int column = 0; column < 6; column++) {
      pinned.unpin(key(column), second);
    }
    assertEquals(0, pool.stats().pinnedChunks());
  }

  @Test
  void droppedChunk_isToldToItsOwners() {
    load(0);
    pinned.pin(key(0), first, PART);
    pinned.pin(key(0), second, PART);
    pool.drop(key(0));
    pinned.leave(key(0));
    assertEquals(List.of(key(0)), told);
    assertFalse(pinned.has(key(0), second));
    pinned.unpin(key(0), first);
    assertEquals(0, pool.stats().pinnedChunks());
  }

  @Test
  void whatIsAbsentOrTooLong_isNotPinned() {
    assertEquals(Outcome.ABSENT, pinned.pin(key(0), first, PART));
    load(0);
    assertEquals(Outcome.TOO_LONG, pinned.pin(key(0), first, PART - 1));
    assertEquals(0, pool.stats().pinnedChunks());
  }
}
