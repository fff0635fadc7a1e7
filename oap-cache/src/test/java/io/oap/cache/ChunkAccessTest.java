package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.oap.cache.layout.ChunkRequest;
import io.oap.cache.pool.ColumnPool;
import io.oap.cache.stats.CacheCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A flight recording has every ask for a chunk, in order; without one nothing is recorded. */
class ChunkAccessTest {

  @Test
  void recording_hasEveryAsk_inOrder(@TempDir Path folder) throws IOException {
    SyntheticFile file = new SyntheticFile(1);
    ChunkRequest a = file.chunk(0, 4, 1000);
    ChunkRequest b = file.chunk(1, 9000, 500);
    ColumnPool pool = RestingPool.open(1 << 16);
    ChunkCache cache = new ChunkCache(pool, 10_000, id -> null, null, LowerTier.NONE);
    Path recorded = folder.resolve("chunks.jfr");
    try (Recording recording = new Recording()) {
      recording.start();
      get(cache, file, b);
      recording.enable("io.oap.ChunkAccess");
      get(cache, file, a, b);
      cache.getIfHeld(a, new ReadContext(new CacheCounters())).close();
      cache.getIfHeld(file.chunk(2, 20000, 10), new ReadContext(new CacheCounters()));
      recording.disable("io.oap.ChunkAccess");
      get(cache, file, a);
      recording.stop();
      recording.dump(recorded);
    }
    RestingPool.close(pool);
    List<RecordedEvent> events =
        RecordingFile.readAllEvents(recorded).stream()
            .filter(event -> event.getEventType().getName().equals("io.oap.ChunkAccess"))
            .toList();
    assertEquals(
        List.of("0 1000 false", "1 500 true", "0 1000 true"),
        events.stream()
            .map(e -> e.getInt("column") + " " + e.getLong("bytes") + " " + e.getBoolean("hit"))
            .toList());
    assertEquals(a.key().file().low(), events.get(0).getLong("fileLow"));
  }

  private static void get(ChunkCache cache, SyntheticFile file, ChunkRequest... requests)
      throws IOException {
    cache.get(List.of(requests), file, new ReadContext(new CacheCounters())).close();
  }
}
