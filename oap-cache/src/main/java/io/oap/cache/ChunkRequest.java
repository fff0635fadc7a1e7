package io.oap.cache;

import io.oap.common.ChunkKey;

/**
 * A column chunk that a reader wants.
 *
 * @param key what it is
 * @param offset where it starts in its file, in bytes
 * @param length bytes
 */
public record ChunkRequest(ChunkKey key, long offset, int length) {

  /** Position of the first byte behind the chunk. */
  public long end() {
    return offset + length;
  }
}
