package io.oap.cache.vector;

/** How one zone is encoded; {@code oap_encoding} of oap_vector.h. */
public enum VectorEncoding {
  /** All values are the same, or there are none. */
  CONSTANT,
  /** Differences from the least value, bit-packed. */
  PACKED,
  /** Run-length. */
  RUNS,
  /** Codes of the chunk's dictionary, bit-packed. */
  DICTIONARY,
  /** As in memory. */
  PLAIN,
  /** Most values are the same; the others are bit-packed behind a bitmap of them. */
  FREQUENCY;

  private static final VectorEncoding[] ALL = values();

  static VectorEncoding of(int number) {
    return ALL[number];
  }
}
