package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool in files goes on with what another one has left there. */
class ReopenedPoolTest {
  private static final int CAPACITY = 1 << 20;

  @TempDir Path directory;
  private PoolOptions options;

  @BeforeEach
  void setOptions() {
    options = PoolOptions.inDirectory(CAPACITY, directory).withReopening(3600);
  }

  private static ChunkKey key(int i) {
    return ChunkKey.encoded(new FileId(1, 2), 0, i);
  }

  private static void put(ColumnPool pool, int i) {
    try (Reservation room = pool.reserve(key(i), 1000)) {
      room.piece(0).put(500, (byte) i);
      room.setNote(i + 1);
      room.publish().close();
    }
  }

  private Path leave(int chunks) {
    try (ColumnPool pool = ColumnPool.open(options)) {
      assertFalse(pool.origin.isReopened());
      for (int i = 0; i < chunks; i++) {
        put(pool, i);
      }
      return pool.origin.home();
    }
  }

  @Test
  void closedPool_isGoneOnWith() {
    Path home = leave(5);
    try (ColumnPool pool = ColumnPool.open(options)) {
      assertEquals(new PoolOrigin(true, false, -1, 5, 5000, 0, "", home), pool.origin);
      assertTrue(pool.origin.inWords().contains("5 chunks"), pool.origin.inWords());
      for (int i = 0; i < 5; i++) {
        try (Pin pin = pool.pin(key(i))) {
          assertNotNull(pin);
          assertEquals(i, pin.piece(0).get(500));
          assertEquals(i + 1, pin.note());
        }
      }
      assertEquals(5, pool.snapshot().chunks().size());
      pool.validate();
      try (ColumnPool second = ColumnPool.open(options)) {
        assertFalse(second.origin.isReopened(), "it is in use");
      }
    }
  }

  @Test
  void damagedChunk_isAMiss() throws IOException {
    Path home = leave(1);
    try (RandomAccessFile data = new RandomAccessFile(home + ".data", "rw")) {
      data.seek(500);
      data.write(77);
    }
    try (ColumnPool pool = ColumnPool.open(options)) {
      assertTrue(pool.isHeld(key(0)));
      assertNull(pool.pin(key(0)));
      assertEquals(1, pool.stats().damaged());
      assertEquals(0, pool.stats().chunks());
    }
  }

  @Test
  void poolOfAnotherSize_isNew_andSaysWhy() {
    leave(1);
    PoolOptions larger = PoolOptions.inDirectory(2 * CAPACITY, directory).withReopening(3600);
    try (ColumnPool pool = ColumnPool.open(larger)) {
      assertFalse(pool.origin.isReopened());
      assertTrue(pool.origin.inWords().contains("another size"), pool.origin.inWords());
    }
  }

  @Test
  void directoryOfOthers_isRefused() throws IOException {
    Path inner = leave(1).getParent();
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(inner)));
    Files.setPosixFilePermissions(inner, PosixFilePermissions.fromString("rwxrwx---"));
    PoolException refused = assertThrows(PoolException.class, () -> ColumnPool.open(options));
    assertTrue(refused.getMessage().contains("this user alone"), refused.getMessage());
  }

  @Test
  void withoutAFile_isRefused() {
    Map<String, String> memory = Map.of("spark.oap.pool.reopen", "true");
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> PoolOptions.of(memory::get));
    assertTrue(refused.getMessage().contains("spark.oap.pool.path"), refused.getMessage());
    Map<String, String> files =
        Map.of(
            "spark.oap.pool.reopen", "true",
            "spark.oap.pool.reopenWithin", "2h",
            "spark.oap.pool.path", directory.toString());
    assertEquals(7200, PoolOptions.of(files::get).keepSeconds());
    assertEquals(List.of(directory), PoolOptions.of(files::get).paths());
    try (ColumnPool unnamed = ColumnPool.open(PoolOptions.inDirectory(CAPACITY, directory))) {
      assertNull(unnamed.origin);
    }
  }
}
