package io.oap.cache.pool;

import static java.util.stream.Collectors.toMap;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.pool.Reservation.Outcome;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What one pool promises to one caller at a time. */
class ColumnPoolTest {

  private static final long CAPACITY = 1 << 20;

  private final ColumnPool pool = ColumnPool.open(TestMedium.options(CAPACITY));

  @AfterEach
  void everyPinIsClosed_andThePoolIsValid() {
    pool.validate();
    assertEquals(0, pool.stats().pinnedChunks());
    pool.close();
  }

  static ChunkKey key(long file, int column) {
    return ChunkKey.encoded(new FileId(file, ~file), 0, column);
  }

  private void put(ChunkKey key, int bytes, int value) {
    try (Reservation reservation = pool.reserve(key, bytes)) {
      assertEquals(Outcome.RESERVED, reservation.outcome());
      for (int i = 0; i < reservation.pieces(); i++) {
        ByteBuffer piece = reservation.piece(i);
        while (piece.hasRemaining()) {
          piece.put((byte) value);
        }
      }
      reservation.publish().close();
    }
  }

  @Test
  void publishedChunk_isPinned_andReadInPlace() {
    put(key(1, 0), 1000, 7);
    try (Pin pin = pool.pin(key(1, 0))) {
      assertEquals(1000, pin.bytes());
      assertEquals(1, pin.pieces());
      ByteBuffer piece = pin.piece(0);
      assertTrue(piece.isDirect());
      assertTrue(piece.isReadOnly());
      assertEquals(1000, piece.remaining());
      assertEquals(7, piece.get(999));
      assertThrows(ReadOnlyBufferException.class, () -> piece.put(0, (byte) 1));
      assertThrows(IndexOutOfBoundsException.class, () -> pin.piece(1));
    }
    assertNull(pool.pin(key(1, 1)));
    assertEquals(1, pool.stats().hits());
    assertEquals(1, pool.stats().misses());
  }

  @Test
  void reservedChunk_isSeenByNobody_untilPublished() {
    Reservation reservation = pool.reserve(key(1, 0), 100);
    assertNull(pool.pin(key(1, 0)));
    assertFalse(pool.isHeld(key(1, 0)));
    assertEquals(Outcome.LOADING, pool.reserve(key(1, 0), 100).outcome());
    Pin pin = reservation.publish();
    assertTrue(pool.isHeld(key(1, 0)));
    assertEquals(Outcome.PRESENT, pool.reserve(key(1, 0), 100).outcome());
    assertThrows(IllegalStateException.class, reservation::publish);
    assertThrows(IllegalStateException.class, () -> reservation.piece(0));
    reservation.close();
    assertTrue(pool.isHeld(key(1, 0)));
    pin.close();
    pin.close();
    assertThrows(IllegalStateException.class, () -> pin.piece(0));
  }

  @Test
  void abandonedChunk_canBeReservedAgain() {
    Reservation first = pool.reserve(key(1, 0), CAPACITY);
    first.close();
    first.close();
    try (Reservation second = pool.reserve(key(1, 0), CAPACITY)) {
      assertEquals(Outcome.RESERVED, second.outcome());
    }
    assertEquals(0, pool.stats().usedBytes());
    assertEquals(2, pool.stats().abandons());
  }

  @Test
  void refusals_evictNothing_andSayWhy() {
    put(key(1, 0), 1000, 1);
    Reservation tooLarge = pool.reserve(key(2, 0), CAPACITY + 1);
    assertEquals(Outcome.TOO_LARGE, tooLarge.outcome());
    assertThrows(IllegalStateException.class, tooLarge::pieces);
    assertThrows(IllegalStateException.class, () -> tooLarge.piece(0));
    assertThrows(IllegalStateException.class, tooLarge::publish);
    tooLarge.close();
    put(key(1, 1), 1000, 1);
    try (Pin pin = pool.pin(key(1, 0))) {
      assertNotNull(pin);
      assertEquals(Outcome.NO_ROOM, pool.reserve(key(2, 0), CAPACITY - 1000).outcome());
    }
    assertThrows(IllegalArgumentException.class, () -> pool.reserve(key(3, 0), 0));
    PoolStats stats = pool.stats();
    assertEquals(0, stats.evictions());
    assertEquals(1, stats.refusedTooLarge());
    assertEquals(1, stats.refusedNoRoom());
  }

  @Test
  void fullPool_evictsWhatIsNotPinned() {
    put(key(1, 0), 1 << 18, 9);
    try (Pin pin = pool.pin(key(1, 0))) {
      for (int i = 1; i < 20; i++) {
        put(key(1, i), 1 << 18, i);
      }
      assertEquals(9, pin.piece(0).get((1 << 18) - 1));
      assertTrue(pool.isHeld(key(1, 0)));
    }
    assertEquals(16, pool.stats().evictions());
    assertEquals(16L << 18, pool.stats().evictedBytes());
    assertEquals(CAPACITY, pool.stats().usedBytes());
  }

  @Test
  void droppedChunk_isGone_butItsPinsRead() {
    put(key(1, 0), 100, 1);
    put(key(1, 1), 100, 2);
    put(key(2, 0), 100, 3);
    Pin pin = pool.pin(key(1, 0));
    assertEquals(2, pool.drop(new FileId(1, ~1)));
    assertNull(pool.pin(key(1, 0)));
    assertFalse(pool.drop(key(1, 1)));
    assertEquals(1, pin.piece(0).get(0));
    assertEquals(256, pool.stats().usedBytes());
    pin.close();
    assertEquals(128, pool.stats().usedBytes());
    assertTrue(pool.drop(key(2, 0)));
    put(key(3, 0), 100, 4);
    pool.clear();
    assertEquals(0, pool.stats().usedBytes());
    assertEquals(0, pool.stats().chunks());
  }

  @Test
  void chunkDroppedWhileLoading_isNeverSeen() {
    Reservation reservation = pool.reserve(key(1, 0), 100);
    assertTrue(pool.drop(key(1, 0)));
    Reservation again = pool.reserve(key(1, 0), 100);
    assertEquals(Outcome.RESERVED, again.outcome());
    try (Pin pin = reservation.publish()) {
      assertEquals(100, pin.bytes());
      assertFalse(pool.isHeld(key(1, 0)));
    }
    again.close();
  }

  @Test
  void poolWithOpenPins_refusesToClose() {
    put(key(1, 0), 100, 1);
    Pin pin = pool.pin(key(1, 0));
    PoolException busy = assertThrows(PoolException.class, pool::close);
    assertEquals(Errno.EBUSY, busy.errno());
    assertEquals(1, pin.piece(0).get(0));
    pin.close();
  }

  @Test
  void resizedPool_holdsMore_andLess() {
    put(key(1, 0), (int) CAPACITY, 1);
    pool.resize(4 * CAPACITY);
    assertEquals(4 * CAPACITY, pool.stats().capacityBytes());
    put(key(2, 0), (int) (3 * CAPACITY), 2);
    assertTrue(pool.isHeld(key(1, 0)));
    try (Pin pin = pool.pin(key(2, 0))) {
      pool.resize(CAPACITY);
      pool.validate();
      assertFalse(pool.isHeld(key(2, 0)));
      assertEquals(2, pin.piece(pin.pieces() - 1).get(0));
      assertEquals(4 * CAPACITY, pool.stats().usedBytes());
    }
    assertEquals(CAPACITY, pool.stats().usedBytes());
    assertTrue(pool.isHeld(key(1, 0)));
  }

  @Test
  void prefaultedPool_liesOnNodes_allOfIt() throws InterruptedException {
    put(key(1, 0), (int) (CAPACITY / 2), 1);
    long touched = pool.bytesOnNodes().values().stream().mapToLong(b -> b).sum();
    assumeTrue(touched > 0, "this system does not tell of nodes");
    assertTrue(touched >= CAPACITY / 2, pool.bytesOnNodes().toString());
    long bytes = 8 * CAPACITY;
    try (ColumnPool other = ColumnPool.open(PoolOptions.anonymous(bytes).withPrefault())) {
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (other.bytesOnNodes().values().stream().mapToLong(b -> b).sum() != bytes) {
        assertTrue(System.nanoTime() < deadline, other.bytesOnNodes().toString());
        Thread.sleep(1); // until the thread has come so far
      }
    }
  }

  @Test
  void resize_thatCannotBe_saysWhy() {
    PoolException small = assertThrows(PoolException.class, () -> pool.resize(65535));
    assertEquals(Errno.EINVAL, small.errno());
    assertTrue(small.getMessage().contains("65535 bytes"), small.getMessage());
    assertEquals(
        Errno.EFBIG, assertThrows(PoolException.class, () -> pool.resize(1L << 40)).errno());
    assertEquals(
        Errno.EFBIG, assertThrows(PoolException.class, () -> pool.resize(Long.MIN_VALUE)).errno());
    ColumnPool closed = ColumnPool.open(PoolOptions.anonymous(CAPACITY));
    closed.close();
    assertEquals(
        Errno.ESHUTDOWN, assertThrows(PoolException.class, () -> closed.resize(CAPACITY)).errno());
    assertEquals(CAPACITY, pool.stats().capacityBytes());
  }

  @Test
  void snapshot_listsWhatIsPublished() {
    put(key(1, 0), 100, 1);
    put(key(2, 7), 200, 2);
    Reservation loading = pool.reserve(key(3, 0), 300);
    PoolSnapshot snapshot = pool.snapshot();
    assertEquals(pool.contentVersion(), snapshot.version());
    assertEquals(
        Set.of(new HeldKey(key(1, 0), 100, 1), new HeldKey(key(2, 7), 200, 1)),
        Set.copyOf(snapshot.chunks()));
    loading.close();
    assertEquals(snapshot.version(), pool.contentVersion());
    pool.drop(key(1, 0));
    assertTrue(pool.contentVersion() > snapshot.version());
    assertEquals(1, pool.snapshot().chunks().size());
  }

  @Test
  void snapshot_tellsHowOftenChunksWereAskedFor() {
    put(key(1, 0), 100, 1);
    put(key(2, 7), 200, 2);
    pool.pin(key(2, 7)).close();
    pool.pinUnused(key(1, 0)).close();
    assertEquals(
        Map.of(key(1, 0), 1, key(2, 7), 2),
        pool.snapshot().chunks().stream().collect(toMap(HeldKey::key, HeldKey::asks)));
  }

  @Test
  void closedPool_answersLikeAnEmptyOne() {
    ColumnPool other = ColumnPool.open(PoolOptions.anonymous(CAPACITY));
    other.close();
    other.close();
    assertNull(other.pin(key(1, 0)));
    assertFalse(other.isHeld(key(1, 0)));
    assertEquals(Outcome.SHUT, other.reserve(key(1, 0), 1).outcome());
    assertEquals(0, other.drop(new FileId(1, ~1)));
    other.clear();
    assertEquals(0, other.stats().usedBytes());
    other.validate();
  }
}
