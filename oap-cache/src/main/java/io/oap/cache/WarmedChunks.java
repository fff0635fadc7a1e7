package io.oap.cache;

import io.oap.cache.layout.ChunkRequest;
import io.oap.common.ChunkKey;
import java.io.Serializable;
import java.util.HashSet;
import java.util.Set;

/**
 * What came of seeing to it that chunks are in the pool before a query wants them. Each chunk
 * counts once, however often it is read. Thread-safe.
 */
public final class WarmedChunks {

  /** A number of chunks, and their encoded bytes. */
  public record Sum(long chunks, long bytes) implements Serializable {
    public static final Sum NONE = new Sum(0, 0);

    public Sum plus(Sum more) {
      return new Sum(chunks + more.chunks, bytes + more.bytes);
    }
  }

  private final Set<ChunkKey> seen = new HashSet<>();
  private Sum loaded = Sum.NONE;
  private Sum present = Sum.NONE;
  private Sum refused = Sum.NONE;

  /** Records a chunk, unless it is known already. */
  public synchronized void add(ChunkRequest chunk, boolean wasHeld, boolean isHeld) {
    if (!seen.add(chunk.key())) {
      return;
    }
    Sum one = new Sum(1, chunk.length());
    if (wasHeld) {
      present = present.plus(one);
    } else if (isHeld) {
      loaded = loaded.plus(one);
    } else {
      refused = refused.plus(one);
    }
  }

  /** Whether a chunk is recorded. */
  public synchronized boolean contains(ChunkKey chunk) {
    return seen.contains(chunk);
  }

  /** Chunks that the pool has taken in. */
  public synchronized Sum loaded() {
    return loaded;
  }

  /** Chunks that the pool held already. */
  public synchronized Sum present() {
    return present;
  }

  /** Chunks that the pool has not taken in. */
  public synchronized Sum refused() {
    return refused;
  }
}
