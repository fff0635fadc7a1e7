package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.quota.TablePins;
import io.oap.cache.quota.TablePins.Outcome;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Chunks that are kept stay; never more than half of the pool is; and all can leave again. */
class TablePinsTest {
  private static final int CAPACITY = 1 << 17;
  private static final int PART = CAPACITY / 8;
  private static final Predicate<ChunkKey> NONE = key -> false;

  private final ColumnPool pool = RestingPool.open(CAPACITY);
  private final Map<FileId, KnownFile> files = new HashMap<>();
  private final ChunkCache cache = new ChunkCache(pool, 10_000, files::get, null, LowerTier.NONE);
  private final TablePins kept = cache.kept;
  private final SyntheticFile file = new SyntheticFile(7);
  private final CacheCounters counters = new CacheCounters();

  @AfterEach
  void nothingIsLeftBehind() {
    kept.release(key -> true);
    assertEquals(0, kept.bytes());
    RestingPool.close(pool);
  }

  private ChunkRequest chunk(int column) {
    return file.chunk(column, 1_000_000L * column, PART);
  }

  private void load(Predicate<ChunkKey> keeps, int... columns) throws IOException {
    for (int column : columns) {
      try (PinnedChunks held = get(Admission.EVICTING, keeps, file, chunk(column))) {
        file.assertHolds(List.of(chunk(column)), held);
      }
    }
  }

  private PinnedChunks get(
      Admission admission, Predicate<ChunkKey> keeps, SyntheticFile from, ChunkRequest chunk)
      throws IOException {
    return cache.get(List.of(chunk), from, new ReadContext(counters, admission, keeps));
  }

  private ChunkKey key(int column) {
    return chunk(column).key();
  }

  @Test
  void keptChunk_staysWhileOthersLeave() throws IOException {
    load(NONE, 0);
    assertEquals(Outcome.KEPT, kept.keep(key(0)));
    assertEquals(Outcome.KEPT, kept.keep(key(0)));
    assertEquals(PART, kept.bytes());
    load(NONE, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    assertTrue(pool.isHeld(key(0)));
    assertFalse(pool.isHeld(key(1)));
    assertTrue(kept.release(key(0)));
    assertFalse(kept.release(key(0)));
    load(NONE, 13, 14, 15, 16, 17, 18, 19, 20, 21);
    assertFalse(pool.isHeld(key(0)));
  }

  @Test
  void hitsOfWhatIsKept_waitForNobody() throws Exception {
    load(NONE, 0);
    assertEquals(Outcome.KEPT, kept.keep(key(0)));
    Thread reader = new Thread(() -> assertDoesNotThrow(() -> load(key -> true, 0)));
    synchronized (kept) { // as somebody does who lets go of a large table
      reader.start();
      reader.join(10_000);
      assertFalse(reader.isAlive());
    }
    assertEquals(1, counters.chunksHit());
  }

  @Test
  void whatIsNotHeld_cannotBeKept() {
    assertEquals(Outcome.ABSENT, kept.keep(key(0)));
    assertFalse(kept.isKept(key(0)));
  }

  @Test
  void noMoreThanHalfIsKept_andThereIsRoomForTheRest() throws IOException {
    load(NONE, 0, 1, 2, 3, 4);
    for (int column = 0; column < 4; column++) {
      assertEquals(Outcome.KEPT, kept.keep(key(column)));
    }
    assertEquals(Outcome.TOO_MUCH, kept.keep(key(4)));
    assertEquals(CAPACITY / 2, kept.bytes());
    load(NONE, 5, 6, 7, 8, 9);
    assertEquals(0, counters.chunksBypassed());
    kept.release(key(0));
    assertEquals(Outcome.KEPT, kept.keep(key(9)));
  }

  @Test
  void keepingReaders_keepWhatTheyLoadAndFind() throws IOException {
    Predicate<ChunkKey> keeping = key -> key.column() < 3;
    load(NONE, 0, 5);
    load(keeping, 0, 1, 4, 5);
    assertTrue(kept.isKept(key(0)) && kept.isKept(key(1)));
    assertFalse(kept.isKept(key(4)) || kept.isKept(key(5)));
    get(Admission.IF_FREE, NONE, file, chunk(2)).close();
    assertFalse(kept.isKept(key(2)));
    assertEquals(List.of((long) PART), kept.release(key -> key.column() == 1));
    assertTrue(kept.isKept(key(0)));
  }

  /** Loads chunks of a version of the one file, as a pinned table's. */
  private void loadVersion(int modified, int... columns) throws IOException {
    SyntheticFile version = new SyntheticFile(100 + modified);
    FileId id = version.chunk(0, 0, 1).key().file();
    FileIdentity identity = new FileIdentity("file:/lake/t/part", 1 << 20, modified, "");
    files.put(id, new KnownFile(identity, List.of("a", "b", "c"), new long[1], new int[3]));
    for (int column : columns) {
      ChunkRequest chunk = version.chunk(column, 1_000_000L * column, PART);
      get(Admission.EVICTING, key -> true, version, chunk).close();
    }
  }

  private boolean isVersionKept(int modified, int column) {
    return kept.isKept(new SyntheticFile(100 + modified).chunk(column, 0, 1).key());
  }

  @Test
  void fileThatIsWrittenAgain_isKeptInItsLastVersion() throws IOException {
    loadVersion(1, 0, 1, 2);
    assertTrue(isVersionKept(1, 0) && isVersionKept(1, 1) && isVersionKept(1, 2));
    loadVersion(2, 0, 1, 2);
    assertTrue(isVersionKept(2, 0) && isVersionKept(2, 1) && isVersionKept(2, 2));
    assertEquals(3 * PART, kept.bytes());
    loadVersion(1, 0, 1, 2);
    assertFalse(isVersionKept(1, 0), "a reader that is late");
    assertTrue(isVersionKept(2, 0));
    kept.release(key -> true);
    loadVersion(1, 0);
    assertTrue(isVersionKept(1, 0), "nothing is kept of a later one");
  }

  @Test
  void smallerPool_letsGoOfWhatItHasNoRoomFor() throws IOException {
    load(NONE, 0, 1, 2, 3);
    for (int column = 0; column < 4; column++) {
      kept.keep(key(column));
    }
    pool.resize(CAPACITY / 2);
    cache.onResize();
    assertTrue(kept.bytes() <= CAPACITY / 4);
    for (int column = 0; column < 4; column++) {
      assertTrue(!kept.isKept(key(column)) || pool.isHeld(key(column)));
    }
    // The memory of those that lay in the part given up is the system's again.
    assertTrue(pool.stats().usedBytes() <= CAPACITY / 2);
    pool.resize(CAPACITY);
    cache.onResize();
    load(NONE, 5, 6, 7, 8, 9);
    assertEquals(0, counters.chunksBypassed());
  }

  @Test
  void randomSteps_asAModelSays() throws IOException {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("TablePinsTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    Set<ChunkKey> model = new HashSet<>();
    Map<ChunkKey, Integer> columns = new HashMap<>();
    for (int step = 0; step < 2000; step++) {
      int column = random.nextInt(24);
      ChunkKey key = key(column);
      columns.put(key, column);
      switch (random.nextInt(6)) {
        case 0 -> assertEquals(model.remove(key), kept.release(key));
        case 1, 2 -> {
          boolean isHeld = pool.isHeld(key);
          boolean fits = model.size() < 4 || model.contains(key);
          Outcome expected = !isHeld ? Outcome.ABSENT : fits ? Outcome.KEPT : Outcome.TOO_MUCH;
          assertEquals(expected, kept.keep(key), () -> "column " + column);
          if (expected == Outcome.KEPT) {
            model.add(key);
          }
        }
        default -> load(NONE, column);
      }
      assertEquals((long) model.size() * PART, kept.bytes());
      model.forEach(one -> assertTrue(pool.isHeld(one) && kept.isKept(one), one::toString));
    }
    assertEquals(0, counters.chunksBypassed());
  }
}
