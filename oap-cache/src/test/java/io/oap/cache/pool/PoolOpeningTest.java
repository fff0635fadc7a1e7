package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool that was opened, but cannot be handed out, gives its memory back. */
class PoolOpeningTest {

  /** How many mappings this process has of files in a directory, which nobody else can see. */
  private static long mappingsIn(Path directory) throws IOException {
    try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
      return mappings.filter(mapping -> mapping.contains(directory.toString())).count();
    }
  }

  @Test
  void errorBeforeThePoolIsHandedOut_givesItsMemoryBack(@TempDir Path directory)
      throws IOException {
    Path real = directory.toRealPath();
    Error error = new OutOfMemoryError("injected");
    PoolOptions options = PoolOptions.inDirectory(1 << 20, real);
    Error thrown =
        assertThrows(
            OutOfMemoryError.class,
            () ->
                ColumnPool.open(
                    options,
                    (pool, i) -> {
                      if (i == 1) {
                        throw error;
                      }
                      return ByteBuffer.allocateDirect(1);
                    }));
    assertSame(error, thrown);
    assertEquals(0, mappingsIn(real));
    try (ColumnPool pool = ColumnPool.open(options)) {
      assertEquals(1, Math.min(1, mappingsIn(real)), "a pool in a directory shows as a mapping");
      assertEquals(0, pool.stats().chunks());
    }
  }
}
