package io.oap.cache.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * What a reservation and a pin have in common: the chunk they name to the pool, where its pieces
 * lie, and that they end once. The fields stand here rather than in an object of their own, so that
 * a hit allocates one object.
 */
abstract class ChunkHandle {

  private static final VarHandle ENDED;

  static {
    try {
      ENDED = MethodHandles.lookup().findVarHandle(ChunkHandle.class, "ended", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final ColumnPool pool;
  final long slotAndGeneration;
  final int shard;
  final long length;
  private final long firstPosition;
  private final long firstBytes;

  /** Position and length of the second piece and those after it; null when there is only one. */
  private final long[] more;

  private volatile boolean ended;

  ChunkHandle(ColumnPool pool, ChunkStruct memory) {
    this.pool = pool;
    slotAndGeneration = memory.slotAndGeneration();
    shard = memory.shard();
    length = memory.bytes();
    firstPosition = memory.piecePosition(0);
    firstBytes = memory.pieceBytes(0);
    int pieces = memory.pieces();
    more = pieces == 1 ? null : new long[2 * (pieces - 1)];
    for (int i = 1; i < pieces; i++) {
      more[2 * i - 2] = memory.piecePosition(i);
      more[2 * i - 1] = memory.pieceBytes(i);
    }
  }

  /** Makes a second handle to a held chunk. */
  ChunkHandle(ChunkHandle other) {
    pool = other.pool;
    slotAndGeneration = other.slotAndGeneration;
    shard = other.shard;
    length = other.length;
    firstPosition = other.firstPosition;
    firstBytes = other.firstBytes;
    more = other.more;
  }

  /** Holds nothing, and has ended. */
  ChunkHandle() {
    pool = null;
    slotAndGeneration = 0;
    shard = 0;
    length = 0;
    firstPosition = 0;
    firstBytes = 0;
    more = null;
    ended = true;
  }

  final boolean hasEnded() {
    return ended;
  }

  /** Ends it; true for the one call that did. */
  final boolean end() {
    return ENDED.compareAndSet(this, false, true);
  }

  final int count() {
    return more == null ? 1 : 1 + more.length / 2;
  }

  final ByteBuffer slice(int i, ByteBuffer[] windows) {
    if (ended) {
      throw new IllegalStateException("the chunk's memory belongs to the pool again");
    }
    Objects.checkIndex(i, count());
    long position = i == 0 ? firstPosition : more[2 * i - 2];
    long bytes = i == 0 ? firstBytes : more[2 * i - 1];
    ByteBuffer window = windows[(int) (position / ColumnPool.WINDOW_BYTES)];
    return window.slice((int) (position % ColumnPool.WINDOW_BYTES), (int) bytes);
  }
}
