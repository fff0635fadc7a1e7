package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cache whose pool is kept knows its chunks and their files again; else it is as without. */
class ReopenedCacheTest {
  private static final FileIdentity FILE = new FileIdentity("file:/f", 1000, 1, "");

  @TempDir Path directory;

  private ColumnCache open() {
    return ColumnCache.open(
        Map.of(
                "spark.oap.pool.size", "1m",
                "spark.oap.pool.path", directory.toString(),
                "spark.oap.pool.reopen", "true")
            ::get);
  }

  private List<Path> homes() throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      return all.filter(path -> path.toString().endsWith(".meta")).toList();
    }
  }

  private static void put(ColumnCache cache, ChunkKey key) {
    ReadContext context = new ReadContext(new CacheCounters());
    try (ChunkLoad load = new ChunkLoad(cache.chunks(), key, 100, null, 0, 0, context)) {
      load.publish(1);
    }
  }

  @Test
  void chunksAndTheirFiles_areKnownAgain() {
    ChunkKey key = ChunkKey.encoded(FILE.id(), 0, 0);
    try (ColumnCache cache = open()) {
      cache.files().add(FILE.id(), this::described);
      put(cache, key);
    }
    try (ColumnCache cache = open()) {
      assertEquals(key, cache.snapshot().chunks().get(0).key());
      KnownFile file = cache.files().get(FILE.id());
      assertNotNull(file);
      assertEquals(FILE, file.identity());
      assertEquals(List.of("a"), file.columns());
    }
  }

  private KnownFile described() {
    return new KnownFile(FILE, List.of("a"), new long[] {4}, new int[] {100});
  }

  @Test
  void directoryThatOthersMayUse_isLeftAlone_andTheCacheIsThere() throws IOException {
    open().close();
    List<Path> before = homes();
    assertEquals(1, before.size());
    Files.setPosixFilePermissions(
        before.get(0).getParent(), PosixFilePermissions.fromString("rwxr-xr-x"));
    try (ColumnCache cache = open()) {
      assertTrue(cache.poolStats().capacityBytes() > 0);
      assertEquals(before, homes());
    }
  }
}
