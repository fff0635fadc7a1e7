package io.oap.cache.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.oap.cache.file.KnownFiles.KnownFile;
import io.oap.common.FileId;
import io.oap.common.FileIdentity;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which known files are forgotten, and what they share. */
class KnownFilesTest {
  private final Set<FileId> held = new HashSet<>();
  private final KnownFiles files = new KnownFiles(() -> held, 3, 1 << 20);

  private static FileId id(int file) {
    return new FileId(file, -file);
  }

  private static KnownFile describe(int file, int rowGroups) {
    FileIdentity identity = new FileIdentity("file:/f" + file, 5000, 7, "");
    List<String> columns = new ArrayList<>(List.of("a", "s", "s"));
    return new KnownFile(identity, columns, new long[rowGroups], new int[3 * rowGroups]);
  }

  private void add(int file) {
    add(files, file, 2);
  }

  private static void add(KnownFiles files, int file, int rowGroups) {
    files.add(id(file), () -> describe(file, rowGroups));
  }

  @Test
  void schema_ofManyFiles_isHeldOnce() {
    add(1);
    add(2);
    assertSame(files.get(id(1)).columns(), files.get(id(2)).columns());
  }

  @Test
  void under_isInAFolderOrOfTheName() {
    Random random = new Random(7);
    KnownFiles many = new KnownFiles(() -> held, 1000, 1 << 20);
    List<String> names = new ArrayList<>();
    for (int file = 0; file < 200; file++) {
      String name = randomPath(random);
      names.add(name);
      KnownFile known =
          new KnownFile(
              new FileIdentity(name, 5000, file, ""), List.of("a"), new long[1], new int[1]);
      many.add(id(file), () -> known);
    }
    for (int run = 0; run < 200; run++) {
      Set<String> paths = new HashSet<>(names.subList(0, run % 3));
      for (int path = 0; path < run % 5; path++) {
        paths.add(randomPath(random) + (random.nextBoolean() ? "/" : ""));
      }
      Set<FileId> expected = new HashSet<>();
      for (int file = 0; file < 200; file++) {
        for (String path : paths) {
          String folder = path.endsWith("/") ? path : path + "/";
          if ((names.get(file) + "/").startsWith(folder)) {
            expected.add(id(file));
          }
        }
      }
      assertEquals(expected, many.under(paths).keySet(), () -> "under " + paths);
    }
  }

  /** Folders lie in each other, and some names begin with others: '-' is before '/', 'b' behind. */
  private static String randomPath(Random random) {
    StringBuilder path = new StringBuilder("file:");
    for (int depth = 1 + random.nextInt(3); depth > 0; depth--) {
      path.append('/').append(List.of("a", "a-", "ab", "b").get(random.nextInt(4)));
    }
    return path.toString();
  }

  @Test
  void filesWithoutChunks_areForgotten_whenThereAreTooMany() {
    held.addAll(Set.of(id(1), id(3)));
    for (int file = 1; file <= 3; file++) {
      add(file);
    }
    assertNotNull(files.get(id(2)));
    add(4);
    assertNotNull(files.get(id(1)));
    assertNull(files.get(id(2)));
    assertNotNull(files.get(id(3)));
    assertNotNull(files.get(id(4)), "its first chunk is still to come");
    add(2);
    assertNotNull(files.get(id(2)));
  }

  @Test
  void largeFilesWithoutChunks_areForgotten_whenTheyAreTooMuch() {
    KnownFiles few = new KnownFiles(() -> held, 1000, 100_000);
    held.add(id(1));
    for (int file = 1; file <= 50; file++) {
      add(few, file, 500);
      assertNotNull(few.get(id(file)));
      assertTrue(few.where(known -> true).size() <= 10, "each has more than ten thousand bytes");
    }
    assertNotNull(few.get(id(1)));
  }

  @Test
  void manyFilesAreKnown_onlyWhileManyHaveChunks() {
    for (int file = 1; file <= 10; file++) {
      held.add(id(file));
      add(file);
    }
    assertEquals(10, files.where(known -> true).size());
    held.clear();
    for (int file = 11; file <= 35; file++) {
      add(file);
    }
    assertTrue(files.where(known -> true).size() <= 3);
  }

  @Test
  void files_stayKnown_whileThePoolCannotListItsChunks() {
    RuntimeException[] fault = {new IllegalStateException("too many chunks for one snapshot")};
    int[] asked = {0};
    KnownFiles many =
        new KnownFiles(
            () -> {
              asked[0]++;
              if (fault[0] != null) {
                throw fault[0];
              }
              return held;
            },
            2,
            1 << 20);
    for (int file = 1; file <= 6; file++) {
      add(many, file, 2);
    }
    assertEquals(6, many.where(known -> true).size());
    assertEquals(1, asked[0], "not by each file");
    fault[0] = null;
    add(many, 7, 2);
    assertEquals(1, many.where(known -> true).size());
  }

  @Test
  void filesOfAFormerProcess_areKnown_whereThePoolCannotListItsChunks(@TempDir Path directory) {
    FileNames names = new FileNames(directory.resolve("names"));
    names.write(List.of(describe(1, 2)));
    KnownFiles next =
        new KnownFiles(
            () -> {
              throw new OutOfMemoryError("direct buffers");
            });
    next.keep(names);
    assertEquals(1, next.where(known -> true).size());
    names.close();
  }
}
