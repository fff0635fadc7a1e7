package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.Reservation;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stats.MissCause;
import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Why chunks were not in the pool. */
class MissCauseTest {
  private static final int CAPACITY = 1 << 16;
  private static final int COLUMNS = 4;

  private final ColumnPool pool = RestingPool.open(CAPACITY);
  private final Map<FileId, KnownFile> files = new HashMap<>();
  private final ChunkCache cache = new ChunkCache(pool, 10_000, files::get, null, LowerTier.NONE);
  private final SyntheticFile bytes = new SyntheticFile(1);

  @AfterEach
  void nothingIsLeftBehind() {
    RestingPool.close(pool);
  }

  /** A version of the file at a path. */
  private FileId version(String path, long modified) {
    return version(path, modified, List.of("a", "b", "c", "d"));
  }

  private FileId version(String path, long modified, List<String> columns) {
    FileIdentity identity = new FileIdentity(path, 1 << 20, modified, "");
    int[] chunkBytes = new int[2 * columns.size()];
    files.put(identity.id(), new KnownFile(identity, columns, new long[2], chunkBytes));
    return identity.id();
  }

  private ChunkRequest chunk(FileId file, int rowGroup, int column, int length) {
    long offset = 100_000L * (COLUMNS * rowGroup + column);
    return new ChunkRequest(ChunkKey.encoded(file, rowGroup, column), offset, length);
  }

  private void assertCauses(Map<MissCause, Integer> expected, ChunkRequest... requests)
      throws IOException {
    assertCauses(Admission.EVICTING, expected, requests);
  }

  private void assertCauses(
      Admission admission, Map<MissCause, Integer> expected, ChunkRequest... requests)
      throws IOException {
    CacheCounters counters = new CacheCounters();
    ReadContext context = new ReadContext(counters, admission, key -> false);
    cache.get(List.of(requests), bytes, context).close();
    Map<MissCause, Integer> found = new EnumMap<>(MissCause.class);
    for (MissCause cause : MissCause.values()) {
      if (counters.chunks(cause) > 0) {
        found.put(cause, (int) counters.chunks(cause));
      }
    }
    assertEquals(expected, found);
    assertEquals(requests.length, counters.chunksAsked());
  }

  @Test
  void firstLoad_isCold_andAHitHasNoCause() throws IOException {
    FileId file = version("f", 1);
    assertCauses(Map.of(MissCause.COLD, 2), chunk(file, 0, 0, 9), chunk(file, 1, 0, 9));
    assertCauses(Map.of(), chunk(file, 0, 0, 9));
  }

  @Test
  void whatHadToLeave_wasEvicted() throws IOException {
    FileId file = version("f", 1);
    ChunkRequest first = chunk(file, 0, 0, CAPACITY / 2);
    assertCauses(Map.of(MissCause.COLD, 1), first);
    assertCauses(Map.of(MissCause.COLD, 1), chunk(file, 0, 1, CAPACITY / 2));
    assertCauses(Map.of(MissCause.COLD, 1), chunk(file, 0, 2, CAPACITY / 2));
    assertCauses(Map.of(MissCause.EVICTED, 1), first);
  }

  @Test
  void columnOfAnEarlierVersion_isOfAChangedFile_othersAreCold() throws IOException {
    FileId before = version("f", 1);
    assertCauses(Map.of(MissCause.COLD, 1), chunk(before, 0, 1, 9));
    FileId after = version("f", 2);
    assertCauses(
        Map.of(MissCause.CHANGED_FILE, 2, MissCause.COLD, 1),
        chunk(after, 0, 1, 9),
        chunk(after, 1, 1, 9),
        chunk(after, 0, 2, 9));
    pool.drop(after);
    assertCauses(Map.of(MissCause.EVICTED, 1), chunk(after, 0, 1, 9));
    FileId other = version("g", 2);
    assertCauses(Map.of(MissCause.COLD, 1), chunk(other, 0, 1, 9));
  }

  @Test
  void versionWithMoreColumns_isOfAChangedFile_whereTheEarlierOneHadThem() throws IOException {
    FileId before = version("f", 1, List.of("a", "b", "c"));
    assertCauses(Map.of(MissCause.COLD, 1), chunk(before, 1, 0, 9));
    FileId after = version("f", 2);
    assertCauses(Map.of(MissCause.CHANGED_FILE, 1), chunk(after, 0, 0, 9));
    assertCauses(Map.of(MissCause.COLD, 1), chunk(after, 0, 3, 9));
  }

  @Test
  void whatWasForgotten_isColdAgain() throws IOException {
    FileId one = version("one", 1);
    FileId two = version("two", 1);
    assertCauses(Map.of(MissCause.COLD, 2), chunk(one, 0, 0, 9), chunk(two, 0, 0, 9));
    pool.clear();
    cache.loaded.forget(one);
    assertCauses(
        Map.of(MissCause.COLD, 1, MissCause.EVICTED, 1), chunk(one, 0, 0, 9), chunk(two, 0, 0, 9));
    pool.clear();
    cache.loaded.clear();
    assertCauses(Map.of(MissCause.COLD, 1), chunk(two, 0, 0, 9));
  }

  @Test
  void unknownFile_isCold() throws IOException {
    FileId unknown = new FileId(1, 2);
    assertCauses(Map.of(MissCause.COLD, 1), chunk(unknown, 0, 0, 9));
    pool.clear();
    assertCauses(Map.of(MissCause.COLD, 1), chunk(unknown, 0, 0, 9));
  }

  @Test
  void poolThatTakesNothingAnyMore_isNotFullOfPins() throws IOException {
    FileId file = version("f", 1);
    pool.close();
    assertCauses(Map.of(MissCause.OTHER, 1), chunk(file, 0, 0, 9));
  }

  @Test
  void refusals() throws IOException {
    FileId file = version("f", 1);
    assertCauses(Map.of(MissCause.TOO_LARGE, 1), chunk(file, 0, 0, CAPACITY + 1));
    try (PinnedChunks most =
        cache.get(
            List.of(chunk(file, 0, 1, CAPACITY - 64)),
            bytes,
            new ReadContext(new CacheCounters()))) {
      most.buffer(0);
    }
    assertCauses(
        Admission.IF_FREE, Map.of(MissCause.NOT_ADMITTED, 1), chunk(file, 1, 0, CAPACITY / 2));
    try (Reservation all = pool.reserve(ChunkKey.encoded(file, 1, 1), CAPACITY)) {
      assertEquals(Reservation.Outcome.RESERVED, all.outcome());
      assertCauses(Map.of(MissCause.PINNED_FULL, 1), chunk(file, 1, 0, CAPACITY / 2));
    }
    cache.switchOff(new IllegalStateException("a fault"));
    assertCauses(Map.of(MissCause.OTHER, 1), chunk(file, 1, 0, 9));
  }
}
