package io.oap.cache.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What a JVM that ends without closing its pool leaves on a device; in dev/pool-vm. */
class ErasedDeviceTest {

  private static final int CAPACITY = 16 << 20;
  private static final ChunkKey KEY = new ChunkKey(new FileId(1, 2), 0, 0, 0);

  @Test
  void endOfTheJvm_erasesTheDevice_ifItIsToBeErased() throws Exception {
    PoolOptions options = TestMedium.options(CAPACITY).withShards(1);
    assumeTrue(options.medium() == Medium.DEVDAX, "there is no device");
    writeInOtherJvm("keep");
    assertEquals(7, anyByteOn(options));
    writeInOtherJvm("erase");
    assertEquals(0, anyByteOn(options));
  }

  /** Memory that is reserved shows what was there before; 0 only if that is all zero. */
  private static byte anyByteOn(PoolOptions options) {
    try (ColumnPool pool = ColumnPool.open(options);
        Reservation reservation = pool.reserve(KEY, CAPACITY)) {
      ByteBuffer bytes = reservation.piece(0);
      while (bytes.hasRemaining()) {
        byte found = bytes.get();
        if (found != 0) {
          return found;
        }
      }
      return 0;
    }
  }

  private static void writeInOtherJvm(String how) throws IOException, InterruptedException {
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Doap.test.medium=devdax",
                "-Doap.test.path=" + System.getProperty("oap.test.path"),
                "-cp",
                System.getProperty("java.class.path"),
                Writer.class.getName(),
                how)
            .inheritIO()
            .start();
    try {
      assertTrue(jvm.waitFor(5, TimeUnit.MINUTES));
      assertEquals(0, jvm.exitValue());
    } finally {
      jvm.destroyForcibly();
    }
  }

  /** Fills a pool and ends. */
  static final class Writer {

    private Writer() {}

    public static void main(String[] how) {
      PoolOptions options = TestMedium.options(CAPACITY).withShards(1);
      ColumnPool pool = ColumnPool.open(how[0].equals("erase") ? options.withErasure() : options);
      try (Reservation reservation = pool.reserve(KEY, CAPACITY)) {
        ByteBuffer bytes = reservation.piece(0);
        while (bytes.hasRemaining()) {
          bytes.put((byte) 7);
        }
        reservation.publish().close();
      }
    }
  }
}
