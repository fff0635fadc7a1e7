package io.oap.cache.pool;

import io.oap.common.ChunkKey;
import io.oap.common.FileId;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The chunks that a pool held at one time.
 *
 * @param version the pool's content version before the chunks were listed; while {@link
 *     ColumnPool#contentVersion} is still the same, so is what the pool holds
 * @param chunks what was published all the while, and perhaps some of what came or went meanwhile
 */
public record PoolSnapshot(long version, List<HeldKey> chunks) {

  /**
   * One chunk.
   *
   * @param key what it is
   * @param bytes its length
   */
  public record HeldKey(ChunkKey key, long bytes) {}

  public PoolSnapshot {
    chunks = List.copyOf(chunks);
  }

  /** Reads a version and so many C structures oap_held. */
  static PoolSnapshot read(ByteBuffer memory, long count) {
    long version = memory.getLong();
    List<HeldKey> chunks = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      FileId file = new FileId(memory.getLong(), memory.getLong());
      ChunkKey key = new ChunkKey(file, memory.getInt(), memory.getInt(), memory.getLong());
      chunks.add(new HeldKey(key, memory.getLong()));
    }
    return new PoolSnapshot(version, chunks);
  }
}
