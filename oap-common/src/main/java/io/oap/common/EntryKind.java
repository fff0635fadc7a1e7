package io.oap.common;

/**
 * What an entry of the pool is: the top 8 bits of its key's representation. The order is that of
 * {@code oap_entry_kind} in native/include/oap_pool.h.
 */
public enum EntryKind {
  /** A column chunk, as it stands in its file. */
  ENCODED,
  /** The decoded values of a column chunk. */
  VECTOR,
  /**
   * A column of a batch of rows, or a part of an RDD, that an application has cached. The file of
   * its key is no file, but whatever names the batch to that application alone.
   */
  CACHED_BATCH;

  private static final int SHIFT = 56;
  private static final EntryKind[] ALL = values();

  /**
   * The representation of entries of this kind.
   *
   * @param hash of all else that their bytes depend on; its top 56 bits are taken
   */
  public long representation(long hash) {
    return (long) ordinal() << SHIFT | hash >>> Long.SIZE - SHIFT;
  }

  /**
   * The kind of entries with this representation.
   *
   * @throws IllegalArgumentException where there is no such kind
   */
  public static EntryKind of(long representation) {
    int number = (int) (representation >>> SHIFT);
    if (number >= ALL.length) {
      throw new IllegalArgumentException("no kind of entries has the number " + number);
    }
    return ALL[number];
  }
}
