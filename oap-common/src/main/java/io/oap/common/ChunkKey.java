package io.oap.common;

import java.util.Objects;

/**
 * What a chunk in the pool is: one column of one row group of one file, in one representation.
 * Entries of the pool that are no column chunks ({@link EntryKind}) use the fields as they like.
 *
 * @param file the file, by identity
 * @param rowGroup ordinal of the row group in the file, from 0
 * @param column ordinal of the leaf column in the file's own schema, from 0
 * @param representation the kind of the entry, and a hash of everything else that its bytes depend
 *     on ({@link EntryKind#representation}); {@link #ENCODED} for bytes of the file
 */
public record ChunkKey(FileId file, int rowGroup, int column, long representation) {

  /** The bytes as they stand in the file. */
  public static final long ENCODED = 0;

  public ChunkKey {
    Objects.requireNonNull(file, "file");
    if (rowGroup < 0 || column < 0) {
      throw new IllegalArgumentException(
          "row group and column count from 0, got " + rowGroup + " and " + column);
    }
  }

  /** Row group and column in one number: the row group in the upper half. */
  public long groupAndColumn() {
    return (long) rowGroup << 32 | column;
  }

  /** What kind of entry this is. */
  public EntryKind kind() {
    return EntryKind.of(representation);
  }

  /** The key of an encoded chunk. */
  public static ChunkKey encoded(FileId file, int rowGroup, int column) {
    return new ChunkKey(file, rowGroup, column, ENCODED);
  }
}
