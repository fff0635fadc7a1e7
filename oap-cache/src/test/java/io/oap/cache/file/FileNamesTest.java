package io.oap.cache.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Names of files come back as they were written, up to where a record is torn. */
class FileNamesTest {
  @TempDir Path directory;
  private Path path;

  @BeforeEach
  void setPath() {
    path = directory.resolve("pool.names");
  }

  private static KnownFile file(int i) {
    FileIdentity identity = new FileIdentity("s3a://b/ö/" + i, 1L << 40 | i, -i, "e" + i);
    return new KnownFile(
        identity, List.of("a", "b" + i), new long[] {4, 1L << 33}, new int[] {1, 0, i, 7});
  }

  private static void assertSame(List<KnownFile> expected, List<KnownFile> found) {
    assertEquals(
        expected.stream().map(FileNamesTest::text).toList(),
        found.stream().map(FileNamesTest::text).toList());
  }

  private static String text(KnownFile file) {
    return file.identity()
        + " "
        + file.columns()
        + Arrays.toString(file.starts())
        + Arrays.toString(file.chunkBytes());
  }

  @Test
  void records_comeBack() throws IOException {
    FileNames names = new FileNames(path);
    assertEquals(List.of(), names.read());
    names.write(List.of(file(1), file(2)));
    names.append(file(3));
    names.close();
    assertSame(List.of(file(1), file(2), file(3)), new FileNames(path).read());
    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
    names = new FileNames(path);
    names.write(List.of(file(2)));
    names.append(file(4));
    assertSame(List.of(file(2), file(4)), new FileNames(path).read());
    names.close();
  }

  @Test
  void tornRecords_endTheList() throws IOException {
    long seed = Long.getLong("oap.seed", System.nanoTime());
    System.out.println("FileNamesTest: seed " + seed + " (-Doap.seed)");
    Random random = new Random(seed);
    FileNames names = new FileNames(path);
    List<KnownFile> all = List.of(file(1), file(2), file(3), file(4));
    names.write(all);
    names.close();
    byte[] bytes = Files.readAllBytes(path);
    for (int i = 0; i < 500; i++) {
      byte[] torn = Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
      if (torn.length > 0 && random.nextBoolean()) {
        torn[random.nextInt(torn.length)] ^= (byte) (1 + random.nextInt(255));
      }
      Files.write(path, torn);
      List<KnownFile> found = new FileNames(path).read();
      assertSame(all.subList(0, found.size()), found);
    }
    Files.write(path, bytes);
    assertEquals(4, new FileNames(path).read().size());
  }

  @Test
  void knownFiles_areKnownAgain_whereThePoolHoldsThem() {
    Set<FileId> held = new HashSet<>();
    KnownFiles first = new KnownFiles(() -> held);
    FileNames names = new FileNames(path);
    first.keep(names);
    for (int i = 0; i < 4; i++) {
      KnownFile file = file(i);
      first.add(file.identity().id(), () -> file);
    }
    names.close();
    held.add(file(1).identity().id());
    held.add(file(3).identity().id());
    KnownFiles second = new KnownFiles(() -> held);
    FileNames again = new FileNames(path);
    second.keep(again);
    assertEquals(held, second.where(file -> true).keySet());
    assertEquals(2, new FileNames(path).read().size(), "the others are not written again");
    again.close();
  }

  @Test
  void interruptedThread_writesOn() {
    FileNames names = new FileNames(path);
    Thread.currentThread().interrupt();
    names.write(List.of(file(1)));
    names.append(file(2));
    assertTrue(Thread.interrupted());
    names.append(file(3));
    names.close();
    assertSame(List.of(file(1), file(2), file(3)), new FileNames(path).read());
  }

  @Test
  void folderThatIsGone_costsNothingButTheNames() throws IOException {
    FileNames names = new FileNames(directory.resolve("none").resolve("pool.names"));
    names.write(List.of(file(1)));
    names.append(file(2));
    names.close();
    assertTrue(names.read().isEmpty());
  }
}
