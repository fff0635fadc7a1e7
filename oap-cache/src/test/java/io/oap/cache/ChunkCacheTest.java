package io.oap.cache;

import static io.oap.cache.SyntheticFile.ranges;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Pin;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.Figure;
import io.oap.cache.stats.MissCause;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What one reader gets from the cache, and what is counted. */
class ChunkCacheTest {
  private static final int CAPACITY = 1 << 16;

  private final ColumnPool pool = RestingPool.open(CAPACITY);
  private final ChunkCache cache = new ChunkCache(pool, 10_000, id -> null, null, LowerTier.NONE);
  private final SyntheticFile file = new SyntheticFile(1);
  private final CacheCounters counters = new CacheCounters();

  @AfterEach
  void nothingIsLeftBehind() {
    assertNull(cache.fault());
    RestingPool.close(pool);
  }

  private PinnedChunks get(ChunkRequest... requests) throws IOException {
    PinnedChunks held = cache.get(List.of(requests), file, new ReadContext(counters));
    file.assertHolds(List.of(requests), held);
    return held;
  }

  private void assertCounted(long hits, long misses, long bypasses) {
    assertEquals(
        List.of(hits, misses, bypasses),
        List.of(counters.chunksHit(), counters.chunksMissed(), counters.chunksBypassed()));
  }

  @Test
  void firstGet_loads_secondGet_hitsInPlace() throws IOException {
    ChunkRequest a = file.chunk(0, 4, 1000);
    ChunkRequest b = file.chunk(1, 9000, 500);
    get(a, b).close();
    assertCounted(0, 2, 0);
    assertEquals(1500, counters.bytesFromFile());
    assertEquals(0, counters.bytesFromPool());
    long nanos = counters.loadNanos();
    assertTrue(nanos > 0);
    try (PinnedChunks held = get(b, a)) {
      assertTrue(held.buffer(0).isDirect() && held.buffer(0).isReadOnly());
      assertEquals(2, pool.stats().pinnedChunks());
    }
    assertCounted(2, 2, 0);
    assertEquals(1500, counters.bytesFromFile());
    assertEquals(1500, counters.bytesFromPool());
    assertEquals(nanos, counters.loadNanos());
    assertEquals(1, file.reads.size());
  }

  @Test
  void loadedChunks_arePinnedByNobody_whileTheirReaderHasThem() throws IOException {
    try (PinnedChunks held = get(file.chunk(0, 0, 100))) {
      assertNotNull(held);
      assertEquals(0, pool.stats().pinnedChunks());
    }
  }

  @Test
  void neighbouringMisses_areOneRange() throws IOException {
    get(file.chunk(2, 150, 10), file.chunk(0, 0, 100), file.chunk(1, 100, 50)).close();
    assertEquals(ranges(0, 160), file.onlyRead());
    assertCounted(0, 3, 0);
  }

  @Test
  void missesWithAHitOrAGapBetween_areSeveralRangesOfOneRead() throws IOException {
    get(file.chunk(1, 100, 50)).close();
    file.reads.clear();
    get(
            file.chunk(0, 0, 100),
            file.chunk(1, 100, 50),
            file.chunk(2, 150, 10),
            file.chunk(3, 161, 10))
        .close();
    assertEquals(ranges(0, 100, 150, 10, 161, 10), file.onlyRead());
    assertCounted(1, 4, 0);
  }

  @Test
  void chunkAskedForTwice_isLoadedOnce() throws IOException {
    ChunkRequest a = file.chunk(0, 0, 100);
    get(a, a).close();
    assertEquals(ranges(0, 100), file.onlyRead());
    assertCounted(1, 1, 0);
  }

  @Test
  void guest_fillsFreeRoom_hitsWhatIsThere_displacesNothing() throws IOException {
    ReadContext guests = new ReadContext(counters, Admission.IF_FREE, key -> false);
    ChunkRequest first = file.chunk(0, 0, CAPACITY / 2);
    ChunkRequest second = file.chunk(1, CAPACITY, CAPACITY / 2 - 1024);
    ChunkRequest third = file.chunk(2, 3 * CAPACITY, CAPACITY / 4);
    cache.get(List.of(first), file, guests).close();
    get(second).close();
    assertCounted(0, 2, 0);
    for (int i = 0; i < 2; i++) {
      PinnedChunks held = cache.get(List.of(third), file, guests);
      file.assertHolds(List.of(third), held);
      held.close();
    }
    assertCounted(0, 2, 2);
    cache.get(List.of(first, second), file, guests).close();
    assertCounted(2, 2, 2);
    assertEquals(0, pool.stats().evictions());
    get(third).close();
    assertCounted(2, 3, 2);
    assertTrue(pool.stats().evictions() > 0);
  }

  @Test
  void guestInAFullPool_takesScatteredRoom_displacesNothing() throws IOException {
    int part = CAPACITY / 10 / 64 * 64;
    for (int i = 0; i < 10; i++) {
      get(file.chunk(i, (long) i * CAPACITY, part)).close();
    }
    pool.drop(file.chunk(1, 0, 1).key());
    pool.drop(file.chunk(5, 0, 1).key());
    ReadContext guests = new ReadContext(counters, Admission.IF_FREE, key -> false);
    ChunkRequest parted = file.chunk(10, 20L * CAPACITY, 2 * part - 100);
    cache.get(List.of(parted), file, guests).close();
    cache.get(List.of(parted), file, guests).close();
    assertCounted(1, 11, 0);
    cache.get(List.of(file.chunk(11, 30L * CAPACITY, part)), file, guests).close();
    assertCounted(1, 11, 1);
    assertEquals(1, counters.chunks(MissCause.NOT_ADMITTED));
    assertEquals(0, pool.stats().evictions());
  }

  @Test
  void noRequests_readNothing() throws IOException {
    get().close();
    assertEquals(List.of(), file.reads);
    assertCounted(0, 0, 0);
  }

  @Test
  void poolFullOfPinnedChunks_isReadAround() throws IOException {
    ChunkRequest large = file.chunk(0, 0, CAPACITY - 64);
    get(large).close();
    ChunkRequest other = file.chunk(1, CAPACITY, 1000);
    try (PinnedChunks pinned = get(large)) {
      get(other).close();
      assertCounted(1, 1, 1);
      get(other, large).close();
      assertCounted(2, 1, 2);
      file.assertHolds(List.of(large), pinned);
      assertEquals(0, pool.stats().evictions());
    }
    get(other).close();
    assertCounted(2, 2, 2);
    assertEquals(CAPACITY - 64 + 3 * 1000, counters.bytesFromFile());
  }

  @Test
  void chunkLargerThanThePool_isReadAround_itsNeighbourIsLoaded() throws IOException {
    ChunkRequest large = file.chunk(0, 0, CAPACITY + 1);
    ChunkRequest small = file.chunk(1, CAPACITY + 1, 10);
    get(large, small).close();
    assertEquals(ranges(0, CAPACITY + 11), file.onlyRead());
    assertCounted(0, 1, 1);
    get(small).close();
    assertCounted(1, 1, 1);
  }

  @Test
  void closedPool_isReadAround() throws IOException {
    get(file.chunk(0, 0, 100)).close();
    pool.close();
    get(file.chunk(0, 0, 100)).close();
    assertCounted(0, 1, 1);
    assertNull(cache.getIfHeld(file.chunk(0, 0, 100), new ReadContext(counters)));
  }

  @Test
  void chunkInSeveralPieces_isReadInOne() throws IOException {
    // Every other one of these goes, which leaves no gap that is large enough.
    for (int i = 0; i < 16; i++) {
      get(file.chunk(i, i * 4096L, 4096)).close();
    }
    for (int i = 0; i < 16; i += 2) {
      assertTrue(pool.drop(file.chunk(i, 0, 1).key()));
    }
    ChunkRequest parted = file.chunk(16, 1 << 20, 10_000);
    get(parted).close();
    try (Pin pin = pool.pin(parted.key())) {
      assertTrue(pin.pieces() > 1, "the pool found one gap; this test needs several");
    }
    try (PinnedChunks held = get(parted)) {
      assertFalse(held.buffer(0).isDirect());
    }
    assertEquals(1, counters.chunksHit());
  }

  @Test
  void getIfHeld_neitherLoadsNorCounts() throws IOException {
    ChunkRequest a = file.chunk(0, 0, 100);
    assertNull(cache.getIfHeld(a, new ReadContext(counters)));
    get(a).close();
    try (PinnedChunks held = cache.getIfHeld(a, new ReadContext(counters))) {
      file.assertHolds(List.of(a), held);
    }
    assertEquals(1, file.reads.size());
    assertCounted(0, 1, 0);
  }

  @Test
  void heldChunkOfAnotherLength_isNotTakenForTheOneAskedFor() throws IOException {
    ChunkRequest a = file.chunk(0, 0, 100);
    ChunkRequest b = file.chunk(0, 500, 60);
    get(a).close();
    get(b).close();
    assertCounted(0, 2, 0);
    get(b).close();
    assertCounted(1, 2, 0);
    assertNull(cache.getIfHeld(a, new ReadContext(counters)));
    assertFalse(pool.isHeld(a.key()));
  }

  @Test
  void closingTwice_endsPinsOnce() throws IOException {
    ChunkRequest a = file.chunk(0, 0, 100);
    get(a).close();
    PinnedChunks first = get(a);
    PinnedChunks second = get(a);
    first.close();
    first.close();
    assertEquals(1, pool.stats().pinnedChunks());
    second.close();
  }

  @Test
  void requestOfNothing_isRefused() {
    assertThrows(IllegalArgumentException.class, () -> file.chunk(0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> file.chunk(0, -1, 1));
  }

  @Test
  void countersAddAndSubtract() {
    counters.hit(10);
    counters.miss(MissCause.COLD);
    counters.miss(MissCause.TOO_LARGE);
    counters.read(20, 30);
    counters.add(Figure.ROW_GROUPS_PRUNED, 2);
    CacheCounters earlier = new CacheCounters();
    earlier.add(counters);
    counters.hit(1);
    counters.read(5, 7);
    counters.miss(MissCause.OTHER);
    CacheCounters since = counters.minus(earlier);
    assertEquals(1, since.chunksHit());
    assertEquals(1, since.bytesFromPool());
    assertEquals(5, since.bytesFromFile());
    assertEquals(7, since.loadNanos());
    assertEquals(0, since.chunksMissed() + since.get(Figure.ROW_GROUPS_PRUNED));
    assertEquals(1, since.chunksBypassed());
    assertEquals(1, since.chunks(MissCause.OTHER));
    assertEquals(1, counters.chunks(MissCause.COLD));
    assertEquals(1, counters.chunksMissed());
    assertEquals(2, counters.chunksBypassed());
    assertEquals(2, counters.minus(new CacheCounters()).get(Figure.ROW_GROUPS_PRUNED));
  }
}
