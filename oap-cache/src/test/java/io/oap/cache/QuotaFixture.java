package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.pool.PoolSnapshot.HeldKey;
import io.oap.cache.quota.QuotaRule;
import io.oap.cache.quota.QuotaRule.Kind;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import io.oap.common.PoolShare;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;

/** A cache, tables in folders of their own, and what is told of them. */
abstract class QuotaFixture {
  static final int CAPACITY = 1 << 18;
  static final int PART = CAPACITY / 64;
  static final int MOST_LENGTH = PART;
  static final int COLUMNS = 60;

  final ColumnPool pool = RestingPool.open(CAPACITY);
  final Map<FileId, KnownFile> known = new HashMap<>();
  final ChunkCache cache = new ChunkCache(pool, 10_000, known::get, null, LowerTier.NONE);
  final CacheCounters counters = new CacheCounters();
  long version;

  @AfterEach
  void nothingIsLeftBehind() {
    cache.letGo(key -> true);
    RestingPool.close(pool);
  }

  /** Table i has the files 2i and 2i + 1, in a folder of its own. */
  static String folder(int table) {
    return "file:/lake/t" + table;
  }

  SyntheticFile file(int number) {
    FileIdentity identity =
        new FileIdentity(folder(number / 2) + "/part-" + number, 1 << 20, 1, "");
    known.put(
        new FileId(number, ~(long) number),
        new KnownFile(identity, List.of(), new long[0], new int[0]));
    return new SyntheticFile(number);
  }

  ChunkRequest chunk(int number, int column, int length) {
    return file(number).chunk(column, 1_000_000L * column, length);
  }

  void read(Admission admission, int number, int... columns) throws IOException {
    for (int column : columns) {
      List<ChunkRequest> requests = List.of(chunk(number, column, PART));
      try (PinnedChunks held = get(admission, requests, number)) {
        file(number).assertHolds(requests, held);
      }
    }
  }

  PinnedChunks get(Admission admission, List<ChunkRequest> requests, int number)
      throws IOException {
    return cache.get(requests, file(number), new ReadContext(counters, admission, key -> false));
  }

  void limit(Kind kind, int table, String share) {
    limit(kind, folder(table), share);
  }

  void limit(Kind kind, String folder, String share) {
    PoolShare part = share == null ? null : PoolShare.parse(share);
    cache.limit(List.of(new QuotaRule(kind, folder, List.of(folder), part, ++version)));
    assertEquals(null, cache.fault());
  }

  long held(int table) {
    return pool.snapshot().chunks().stream()
        .filter(chunk -> chunk.key().file().high() / 2 == table)
        .mapToLong(HeldKey::bytes)
        .sum();
  }

  static int[] columns(int from, int to) {
    return IntStream.range(from, to).toArray();
  }
}
