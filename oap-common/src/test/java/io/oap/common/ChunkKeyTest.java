package io.oap.common;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.junit.jupiter.api.Test;

/** A chunk key is its four parts. */
class ChunkKeyTest {
  private static final FileId FILE = new FileId(1, 2);

  @Test
  void equals_anyPartDiffers_differs() {
    Set<ChunkKey> keys =
        Set.of(
            new ChunkKey(FILE, 3, 4, 5),
            new ChunkKey(new FileId(2, 1), 3, 4, 5),
            new ChunkKey(FILE, 4, 3, 5),
            new ChunkKey(FILE, 3, 5, 5),
            new ChunkKey(FILE, 3, 4, ChunkKey.ENCODED));
    assertEquals(5, keys.size());
    assertTrue(keys.contains(new ChunkKey(new FileId(1, 2), 3, 4, 5)));
  }

  @Test
  void encoded_always_hasTheEncodedRepresentation() {
    assertEquals(new ChunkKey(FILE, 3, 4, ChunkKey.ENCODED), ChunkKey.encoded(FILE, 3, 4));
  }

  @Test
  void kind_ofARepresentation_isTheOneItWasMadeFor() {
    for (EntryKind kind : EntryKind.values()) {
      for (long hash : new long[] {0, 1L << 40, -1}) {
        assertEquals(kind, new ChunkKey(FILE, 0, 0, kind.representation(hash)).kind());
      }
    }
    assertEquals(EntryKind.ENCODED, ChunkKey.encoded(FILE, 3, 4).kind());
    assertNotEquals(
        EntryKind.VECTOR.representation(1 << 8), EntryKind.VECTOR.representation(2 << 8));
    IllegalArgumentException unknown =
        assertThrows(IllegalArgumentException.class, () -> EntryKind.of(-1));
    assertTrue(unknown.getMessage().contains("255"), unknown.getMessage());
  }

  @Test
  void constructor_partIsMissingOrNegative_isRefused() {
    assertThrows(NullPointerException.class, () -> new ChunkKey(null, 0, 0, 0));
    IllegalArgumentException rowGroup =
        assertThrows(IllegalArgumentException.class, () -> ChunkKey.encoded(FILE, -1, 7));
    assertTrue(rowGroup.getMessage().contains("-1 and 7"), rowGroup.getMessage());
    assertThrows(IllegalArgumentException.class, () -> ChunkKey.encoded(FILE, 0, -1));
  }
}
