package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.WarmedChunks.Sum;
import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.Admission;
import io.oap.cache.stats.CacheCounters;
import io.oap.cache.stream.CachedFileStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A reader that only sees to it that chunks are there: what it loads, and what it tells. */
class WarmedChunksTest {
  private final SyntheticSource source =
      new SyntheticSource(new SyntheticFile(1, ranges -> {}), new Random(1), 40, 300_000);
  private final CacheCounters counters = new CacheCounters();
  private final WarmedChunks warmed = new WarmedChunks();
  private ColumnCache cache = cache("64m");

  private static ColumnCache cache(String size) {
    return ColumnCache.open(Map.of("spark.oap.pool.size", size)::get);
  }

  @AfterEach
  void nothingIsLeftBehind() {
    assertEquals(0, cache.poolStats().pinnedChunks());
    cache.close();
  }

  private CachedFileStream open(ReadContext context) {
    return new CachedFileStream(
        source, (file, identity, mostBytes) -> source.layout(), cache, context);
  }

  /** Reads the last byte of each chunk: a small part, and none that is a structure as a rule. */
  private void touchAll(ReadContext context) throws IOException {
    try (CachedFileStream stream = open(context)) {
      for (ChunkRequest chunk : source.chunks) {
        ByteBuffer one = ByteBuffer.allocate(1);
        stream.readFully(chunk.end() - 1, one);
        assertEquals(source.file.byteAt(chunk.end() - 1), one.get(0));
      }
    }
  }

  private Sum all() {
    return source.chunks.stream()
        .map(chunk -> new Sum(1, chunk.length()))
        .reduce(Sum.NONE, Sum::plus);
  }

  @Test
  void touchedChunks_areLoadedWhole_andCountOnce() throws IOException {
    ReadContext context = new ReadContext(counters).warming(warmed);
    touchAll(context);
    touchAll(context);
    // A chunk whose last byte is of a structure, or of the footer, is not asked for.
    Sum loaded = warmed.loaded();
    assertTrue(loaded.chunks() > source.chunks.size() / 2 && loaded.chunks() <= all().chunks());
    assertEquals(loaded.chunks(), cache.poolStats().chunks());
    assertEquals(Sum.NONE, warmed.present());
    assertEquals(Sum.NONE, warmed.refused());

    WarmedChunks again = new WarmedChunks();
    touchAll(new ReadContext(counters).warming(again));
    assertEquals(loaded, again.present());
    assertEquals(Sum.NONE, again.loaded());
  }

  @Test
  void reads_areThoseOfNoQuery() throws IOException {
    touchAll(new ReadContext(counters).warming(warmed));
    assertEquals(0, cache.files().get(source.identity().id()).reads().asked());
    touchAll(new ReadContext(counters));
    assertTrue(cache.files().get(source.identity().id()).reads().asked() > 0);
  }

  @Test
  void chunksThatMayNotEnter_areRefused_andReadAllTheSame() throws IOException {
    ReadContext never = new ReadContext(counters, Admission.NEVER, key -> false).warming(warmed);
    touchAll(never);
    assertTrue(warmed.refused().chunks() > 0);
    assertEquals(Sum.NONE, warmed.loaded());
    assertEquals(0, cache.poolStats().chunks());
  }

  @Test
  void chunksThatAreAskedForTogether_areToldApart() throws IOException {
    List<ChunkRequest> some = source.chunks.subList(0, 4);
    cache.chunks().get(some.subList(0, 1), source.file, new ReadContext(counters)).close();
    ReadContext context = new ReadContext(counters).warming(warmed);
    cache.chunks().get(some, source.file, context).close();
    assertEquals(new Sum(1, some.get(0).length()), warmed.present());
    assertEquals(3, warmed.loaded().chunks());
  }
}
