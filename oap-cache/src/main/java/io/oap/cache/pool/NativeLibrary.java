package io.oap.cache.pool;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Loads the pool's native library, once per class loader.
 *
 * <ol>
 *   <li>{@code -Dio.oap.native.path=/path/to/liboap.so}: that file and no other.
 *   <li>The library in the jar, {@code io/oap/native/<system>/liboap.so}, copied to a private
 *       temporary directory and removed from there as soon as it is loaded.
 * </ol>
 *
 * The library must say the same version as the jar. A failure is remembered: every later call
 * throws it again without another attempt.
 */
public final class NativeLibrary {

  /** System property that names the library file. */
  public static final String PATH_PROPERTY = "io.oap.native.path";

  private static final PoolException FAILURE = load();

  private NativeLibrary() {}

  /**
   * Returns when the library is loaded and fits.
   *
   * @throws PoolException saying why it is not
   */
  public static void ensureLoaded() {
    if (FAILURE != null) {
      throw new PoolException(0, FAILURE.getMessage(), FAILURE);
    }
  }

  /**
   * The version that the library tells.
   *
   * @throws PoolException when there is none that fits
   */
  public static String version() {
    ensureLoaded();
    return NativePool.version();
  }

  private static PoolException load() {
    String explicit = System.getProperty(PATH_PROPERTY);
    try {
      if (explicit != null) {
        System.load(Path.of(explicit).toAbsolutePath().toString());
      } else {
        loadFromJar();
      }
      checkVersion(explicit);
      return null;
    } catch (PoolException e) {
      return e;
    } catch (IOException | RuntimeException | LinkageError e) {
      String what =
          explicit != null
              ? "the native library " + explicit + ", given by -D" + PATH_PROPERTY
              : "the native library in the jar";
      return new PoolException(0, "Cannot load " + what + ": " + e.getMessage(), e);
    }
  }

  /** Directory of this machine's library: {@code linux-x86_64} or {@code linux-aarch64}. */
  private static String system() {
    String machine = System.getProperty("os.arch");
    String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
    return system + "-" + (machine.equals("amd64") ? "x86_64" : machine);
  }

  private static void loadFromJar() throws IOException {
    String resource = "/io/oap/native/" + system() + "/liboap.so";
    try (InputStream library = NativeLibrary.class.getResourceAsStream(resource)) {
      if (library == null) {
        throw new PoolException(
            0,
            "The jar has no native library for "
                + system()
                + "; build one from native/ and name it with -D"
                + PATH_PROPERTY);
      }
      // Created for its owner only, so that nobody else can exchange the file before it is loaded.
      Path directory = Files.createTempDirectory("oap-native-");
      Path file = directory.resolve("liboap.so");
      try {
        Files.copy(library, file);
        System.load(file.toString());
      } finally {
        Files.deleteIfExists(file);
        Files.delete(directory);
      }
    }
  }

  private static void checkVersion(String explicit) {
    String expected = JarVersion.TEXT;
    String found = NativePool.version();
    if (!found.equals(expected)) {
      throw new PoolException(
          0,
          "The native library "
              + (explicit == null ? "in the jar" : explicit)
              + " has version "
              + found
              + ", the jar needs "
              + expected
              + "; use the library that was built with the jar");
    }
  }
}
