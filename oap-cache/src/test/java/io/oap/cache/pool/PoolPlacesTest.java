package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pools on every kind of place, and what they say where they cannot be. */
class PoolPlacesTest {

  private static final long CAPACITY = 1 << 20;

  @Test
  void poolInDirectory_leavesNothingThere(@TempDir Path directory) throws IOException {
    try (ColumnPool other = ColumnPool.open(PoolOptions.inDirectory(CAPACITY, directory))) {
      try (Reservation reservation = other.reserve(ColumnPoolTest.key(1, 0), CAPACITY)) {
        reservation.piece(0).put(0, (byte) 5);
        reservation.publish().close();
      }
      try (Pin pin = other.pin(ColumnPoolTest.key(1, 0))) {
        assertEquals(5, pin.piece(0).get(0));
      }
      try (Stream<Path> files = Files.list(directory)) {
        assertEquals(List.of(), files.toList());
      }
    }
  }

  @Test
  void poolThatCannotBe_saysWhy(@TempDir Path directory) throws IOException {
    assertFails(Errno.EINVAL, PoolOptions.anonymous(0));
    assertFails(Errno.EINVAL, PoolOptions.anonymous(CAPACITY).withPolicy("random"));
    assertFails(Errno.EINVAL, PoolOptions.anonymous(CAPACITY).withShards(3));
    assertFails(Errno.ENOMEM, PoolOptions.anonymous(Long.MAX_VALUE));
    assertFails(Errno.ENOENT, PoolOptions.inDirectory(CAPACITY, directory.resolve("missing")));
    Path file = Files.createFile(directory.resolve("file"));
    assertFails(Errno.ENOTDIR, PoolOptions.inDirectory(CAPACITY, file));
    assertFails(Errno.ENOSPC, PoolOptions.inDirectory(1L << 46, Path.of("/dev/shm")));
    assertFails(
        Errno.EOPNOTSUPP,
        PoolOptions.onPaths(CAPACITY, Medium.FSDAX, List.of(Path.of("/dev/shm"))));
    assertFails(
        Errno.ENODEV, PoolOptions.onPaths(4L << 20, Medium.DEVDAX, List.of(Path.of("/dev/null"))));
    assertFails(Errno.EINVAL, PoolOptions.onNodes(CAPACITY, 1L << 63, false));
  }

  /** A file stands for the device: it is locked before it is found to be none. */
  @Test
  void deviceOfAnotherProcess_isRefused(@TempDir Path directory) throws Exception {
    Path device = Files.createFile(directory.resolve("device"));
    PoolOptions options = PoolOptions.onPaths(4L << 20, Medium.DEVDAX, List.of(device));
    Process other =
        new ProcessBuilder("flock", device.toString(), "sh", "-c", "echo locked; read end").start();
    try {
      assertEquals("locked", other.inputReader().readLine());
      PoolException e = assertFails(Errno.EBUSY, options);
      assertTrue(e.getMessage().contains(device + ": another pool"), e.getMessage());
    } finally {
      other.getOutputStream().close();
      other.waitFor();
    }
    assertFails(Errno.ENODEV, options);
  }

  @Test
  void severalPaths_makeOnePool(@TempDir Path directory) {
    PoolOptions options =
        PoolOptions.onPaths(
            CAPACITY, Medium.FILE, List.of(directory, Path.of("/dev/shm"), directory));
    try (ColumnPool other = ColumnPool.open(options)) {
      assertEquals(CAPACITY / 3 / 4096 * 4096 * 3, other.stats().capacityBytes());
      try (Reservation reservation = other.reserve(ColumnPoolTest.key(1, 0), CAPACITY / 2)) {
        assertEquals(2, reservation.pieces());
        reservation.piece(1).put(0, (byte) 5);
        reservation.publish().close();
      }
      try (Pin pin = other.pin(ColumnPoolTest.key(1, 0))) {
        assertEquals(5, pin.piece(1).get(0));
      }
    }
  }

  @Test
  void configuration_saysWhereThePoolLies() {
    assertEquals(PoolOptions.anonymous(1L << 30).withPolicy("s3fifo"), PoolOptions.of(key -> null));
    Map<String, String> files =
        Map.of("spark.oap.pool.path", "/a, /b", "spark.oap.pool.policy", "lru");
    assertEquals(
        PoolOptions.onPaths(1L << 30, Medium.FILE, List.of(Path.of("/a"), Path.of("/b")))
            .withPolicy("lru"),
        PoolOptions.of(files::get));
    Map<String, String> nodes =
        Map.of(
            "spark.oap.pool.medium", "node",
            "spark.oap.pool.nodes", "interleave:0,2",
            "spark.oap.pool.prefault", "true");
    assertEquals(
        PoolOptions.onNodes(1L << 30, 5, true).withPolicy("s3fifo").withPrefault(),
        PoolOptions.of(nodes::get));
    Map<String, String> device =
        Map.of(
            "spark.oap.pool.medium", "devdax",
            "spark.oap.pool.path", "/dev/dax0.0",
            "spark.oap.pool.erase", "true");
    assertEquals(
        PoolOptions.onPaths(1L << 30, Medium.DEVDAX, List.of(Path.of("/dev/dax0.0")))
            .withPolicy("s3fifo")
            .withErasure(),
        PoolOptions.of(device::get));
    for (Map<String, String> wrong :
        List.of(
            Map.of("spark.oap.pool.medium", "fsdax"),
            Map.of("spark.oap.pool.medium", "dram", "spark.oap.pool.path", "/a"),
            Map.of("spark.oap.pool.path", "/a" + ",/b".repeat(16)),
            Map.of("spark.oap.pool.medium", "node", "spark.oap.pool.nodes", "64"))) {
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> PoolOptions.of(wrong::get));
      assertTrue(e.getMessage().contains("spark.oap.pool."), e.getMessage());
    }
  }

  private static PoolException assertFails(int errno, PoolOptions options) {
    PoolException e = assertThrows(PoolException.class, () -> ColumnPool.open(options));
    assertEquals(errno, e.errno(), e.getMessage());
    assertTrue(e.getMessage().contains(Long.toString(options.capacityBytes())));
    return e;
  }
}
