package io.oap.cache.layout;

import io.oap.common.ChunkKey;

/**
 * A column chunk that a reader wants.
 *
 * @param key what it is
 * @param offset where it starts in its file, in bytes
 * @param length bytes, at least 1
 */
public record ChunkRequest(ChunkKey key, long offset, int length) {

  public ChunkRequest {
    if (offset < 0 || length < 1) {
      throw new IllegalArgumentException(
          "a chunk lies at 0 or behind and has at least one byte, got " + offset + ", " + length);
    }
  }

  /** Position of the first byte behind the chunk. */
  public long end() {
    return offset + length;
  }
}
