package io.oap.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A file identity is its four parts, and its number stands for all of them. */
class FileIdentityTest {
  private static final FileIdentity FILE =
      new FileIdentity(
          "s3a://bucket/table/part-0.parquet",
          1234567,
          1700000000000L,
          "\"9b2cf535f27731c974343645a3985328\"");

  /**
   * Worked out apart from this code, with Python's hashlib. A pool that outlives us relies on it.
   */
  @Test
  void id_knownFile_isTheKnownNumber() {
    assertEquals(new FileId(0x8b8b9a8693363f1bL, 0x008910ad478cc517L), FILE.id());
  }

  @Test
  void id_sameParts_isTheSame() {
    FileIdentity again =
        new FileIdentity(
            new String(FILE.path()), FILE.length(), FILE.modificationTime(), FILE.etag());
    assertEquals(FILE, again);
    assertEquals(FILE.id(), again.id());
  }

  @Test
  void id_anyPartDiffers_differs() {
    List<FileIdentity> others =
        List.of(
            new FileIdentity(FILE.path() + "x", FILE.length(), 1700000000000L, FILE.etag()),
            new FileIdentity(FILE.path(), FILE.length() + 1, 1700000000000L, FILE.etag()),
            new FileIdentity(FILE.path(), FILE.length(), 1700000000001L, FILE.etag()),
            new FileIdentity(FILE.path(), FILE.length(), 1700000000000L, ""),
            new FileIdentity(FILE.path(), 1700000000000L, FILE.length(), FILE.etag()));
    for (FileIdentity other : others) {
      assertNotEquals(FILE, other);
      assertNotEquals(FILE.id(), other.id(), other.toString());
    }
  }

  /** An object store's listing may tell milliseconds where its status of one object does not. */
  @Test
  void placementKey_timesOfTheSameSecond_isTheSame() {
    for (long second : List.of(1700000000000L, 0L, -1000L)) {
      long key = FileIdentity.placementKey(FILE.path(), 1, second);
      assertEquals(key, FileIdentity.placementKey(FILE.path(), 1, second + 999));
      assertNotEquals(key, FileIdentity.placementKey(FILE.path(), 1, second + 1000));
      assertNotEquals(key, FileIdentity.placementKey(FILE.path(), 1, second - 1));
    }
  }

  @Test
  void id_bytesMoveBetweenPathAndEtag_differs() {
    Map<FileId, String> seen = new HashMap<>();
    String both = "abcdefgh";
    for (int cut = 0; cut <= both.length(); cut++) {
      String path = both.substring(0, cut);
      String etag = both.substring(cut);
      String earlier = seen.put(new FileIdentity(path, 1, 1, etag).id(), path);
      assertEquals(null, earlier, () -> path + "|" + etag + " has the id of " + earlier + "|");
    }
  }

  /** Parts of a tiny alphabet, so that an encoding that runs parts together would collide. */
  @Test
  void id_randomIdentities_areEqualOnlyWhenTheIdentitiesAre() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Map<FileId, FileIdentity> seen = new HashMap<>();
    for (int i = 0; i < 50_000; i++) {
      FileIdentity file =
          new FileIdentity(
              text(random),
              random.nextInt(3),
              random.nextInt(3) << random.nextInt(60),
              text(random));
      FileIdentity earlier = seen.putIfAbsent(file.id(), file);
      assertEquals(earlier == null ? file : earlier, file, "seed " + seed);
    }
  }

  private static String text(Random random) {
    char[] characters = new char[random.nextInt(6)];
    for (int i = 0; i < characters.length; i++) {
      characters[i] = "\0\1aä".charAt(random.nextInt(4));
    }
    return new String(characters);
  }

  @Test
  void serialization_roundTrip_keepsTheId() throws IOException, ClassNotFoundException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(FILE);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      assertEquals(FILE.id(), ((FileIdentity) in.readObject()).id());
    }
  }

  @Test
  void constructor_partIsNull_isRefused() {
    assertThrows(NullPointerException.class, () -> new FileIdentity(null, 1, 1, ""));
    assertThrows(NullPointerException.class, () -> new FileIdentity("a", 1, 1, null));
  }
}
