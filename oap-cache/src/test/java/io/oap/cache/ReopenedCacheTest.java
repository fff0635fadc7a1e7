package io.oap.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.cache.pool.Pin;
import io.oap.cache.stats.CacheCounters;
import io.oap.common.ChunkKey;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
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

  /** The file that chunks lie in. */
  private Path data() throws IOException {
    return Path.of(homes().get(0).toString().replace(".meta", ".data"));
  }

  private static void put(ColumnCache cache, ChunkKey key) {
    ReadContext context = new ReadContext(new CacheCounters());
    try (ChunkLoad load = new ChunkLoad(cache.chunks(), key, 100, null, 0, 0, context)) {
      byte[] bytes = new byte[100];
      Arrays.fill(bytes, (byte) (77 + key.column()));
      load.publish(ByteBuffer.wrap(bytes), Checksum.of(ByteBuffer.wrap(bytes)));
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

  @Test
  void chunkThatItsDiskDoesNotGive_isNotRight() throws IOException {
    assumeTrue(kernelTells());
    ChunkKey key = ChunkKey.encoded(FILE.id(), 0, 0);
    try (ColumnCache cache = open()) {
      put(cache, key);
      try (Pin pin = cache.chunks().pool.pin(key)) {
        assertTrue(pin.isReadable());
        assertTrue(Checksum.isRight(pin));
        // To read beyond a file's end fails as a disk does, by a signal.
        try (FileChannel file = FileChannel.open(data(), StandardOpenOption.WRITE)) {
          file.truncate(0);
        }
        assertFalse(pin.isReadable());
        assertFalse(Checksum.isRight(pin));
      }
    }
  }

  /** Whether it says what cannot be read before it is read: from Linux 5.14 on. */
  private static boolean kernelTells() {
    String[] version = System.getProperty("os.version").split("[^0-9]", 3);
    int major = Integer.parseInt(version[0]);
    return major > 5 || (major == 5 && Integer.parseInt(version[1]) >= 14);
  }

  @Test
  void chunkThatHasChangedSinceItsProcess_isFoundByACheck() throws IOException {
    try (ColumnCache cache = open()) {
      put(cache, ChunkKey.encoded(FILE.id(), 0, 0));
      put(cache, ChunkKey.encoded(FILE.id(), 0, 1));
    }
    byte[] bytes = Files.readAllBytes(data());
    int at = 0;
    while (bytes[at] != 77) {
      at++;
    }
    try (FileChannel file = FileChannel.open(data(), StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(new byte[] {1}), at);
    }
    try (ColumnCache cache = open()) {
      assertEquals(new ColumnCache.Verified(2, 200, 1, 100), cache.verify(file -> true));
      assertEquals(new ColumnCache.Verified(1, 100, 0, 0), cache.verify(file -> true));
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
