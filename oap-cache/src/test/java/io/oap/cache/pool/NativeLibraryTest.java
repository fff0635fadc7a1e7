package io.oap.cache.pool;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loading happens once per class loader, so each case runs in a JVM of its own. */
class NativeLibraryTest {

  /** Opens a pool twice and prints what came of it. */
  public static final class Probe {
    private Probe() {}

    public static void main(String[] args) {
      for (int i = 0; i < 2; i++) {
        try (ColumnPool pool = ColumnPool.open(PoolOptions.anonymous(1 << 20))) {
          System.out.println("opened " + pool.stats().capacityBytes());
        } catch (PoolException e) {
          System.out.println("failed " + e.getMessage());
        }
      }
    }
  }

  private static List<String> probe(List<String> jvmOptions) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(jvmOptions);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Probe.class.getName()));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertTrue(process.waitFor(1, TimeUnit.MINUTES));
    assertEquals(0, process.exitValue(), output);
    // Here the logger has no provider, and says so.
    return output.lines().filter(line -> !line.startsWith("SLF4J")).toList();
  }

  @Test
  void libraryInJar_isLoaded_andLeavesNoFile(@TempDir Path directory) throws Exception {
    List<String> lines = probe(List.of("-Djava.io.tmpdir=" + directory));
    assertEquals(List.of("opened 1048576", "opened 1048576"), lines);
    try (var files = Files.list(directory)) {
      assertEquals(
          List.of(),
          files.filter(f -> !f.getFileName().toString().startsWith("hsperfdata_")).toList());
    }
  }

  @Test
  void explicitPath_hasNoFallback_andFailureIsRemembered(@TempDir Path directory) throws Exception {
    Path missing = directory.resolve("liboap.so");
    List<String> lines = probe(List.of("-Dio.oap.native.path=" + missing));
    assertEquals(2, lines.size());
    assertTrue(
        lines.get(0).startsWith("failed Cannot load the native library " + missing), lines.get(0));
    assertEquals(lines.get(0), lines.get(1));
  }

  @Test
  void fileThatIsNoLibrary_failsToLoad(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("liboap.so"), "not a library");
    List<String> lines = probe(List.of("-Dio.oap.native.path=" + file));
    // The JVM itself warns before it gives up, on a line of its own.
    String failure = "failed Cannot load the native library " + file;
    assertEquals(2, lines.stream().filter(l -> l.startsWith(failure)).count(), lines.toString());
  }

  @Test
  void libraryOfAnotherVersion_isRefused(@TempDir Path directory) throws Exception {
    NativeLibrary.ensureLoaded();
    String own = NativePool.version();
    String other = (own.startsWith("9") ? "8" : "9") + own.substring(1);
    Path library = directory.resolve("liboap.so");
    Files.write(library, ownLibrary().replace(own, other).getBytes(ISO_8859_1));
    List<String> lines = probe(List.of("-Dio.oap.native.path=" + library));
    assertTrue(
        lines.get(0).contains("has version " + other + ", the jar needs " + own), lines.get(0));
    assertEquals(lines.get(0), lines.get(1));
  }

  @Test
  void sameLibrary_byExplicitPath_isLoaded(@TempDir Path directory) throws Exception {
    Path library = directory.resolve("liboap.so");
    Files.write(library, ownLibrary().getBytes(ISO_8859_1));
    List<String> lines = probe(List.of("-Dio.oap.native.path=" + library));
    assertEquals(List.of("opened 1048576", "opened 1048576"), lines);
  }

  /** The bytes of the library in the jar, one character each. */
  private static String ownLibrary() throws IOException {
    String arch = System.getProperty("os.arch").equals("amd64") ? "x86_64" : "aarch64";
    String resource = "/io/oap/native/linux-" + arch + "/liboap.so";
    try (var library = NativeLibrary.class.getResourceAsStream(resource)) {
      return new String(library.readAllBytes(), ISO_8859_1);
    }
  }
}
