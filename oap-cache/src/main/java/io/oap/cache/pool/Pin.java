package io.oap.cache.pool;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * A published chunk, held in place for reading. Threads may share it; any of them may close it,
 * once none of them reads any more: slices point into the pool's memory, which is given to other
 * chunks after the last pin of a chunk has ended.
 */
public final class Pin extends ChunkHandle implements AutoCloseable {

  Pin(ColumnPool pool, ChunkStruct memory) {
    super(pool, memory);
  }

  /** The pin that native code has just taken; it ends where the heap has no room for an object. */
  static Pin of(ColumnPool pool, ChunkStruct memory) {
    try {
      return new Pin(pool, memory);
    } catch (Throwable e) {
      pool.unpin(memory.slotAndGeneration(), memory.shard(), memory.bytes());
      throw e;
    }
  }

  Pin(Reservation published) {
    super(published);
  }

  /** Length of the chunk. */
  public long bytes() {
    return length;
  }

  /** In how many pieces the chunk lies, 1 to 4; their lengths add up to {@link #bytes()}. */
  public int pieces() {
    return count();
  }

  /**
   * A new read-only, direct, big-endian buffer over piece i. Its memory starts at a multiple of 64
   * bytes. Not to be touched after {@link #close()}.
   *
   * @throws IllegalStateException when this pin has ended
   */
  public ByteBuffer piece(int i) {
    return slice(i, pool.readOnlyWindows);
  }

  /**
   * Copies the chunk, and moves the position of where it goes behind it.
   *
   * @throws IllegalStateException when this pin has ended
   */
  public void copyTo(ByteBuffer to) {
    for (int i = 0; i < pieces(); i++) {
      to.put(piece(i));
    }
  }

  /**
   * What {@link Reservation#setNote} kept with the chunk.
   *
   * @throws IllegalStateException when this pin has ended
   */
  public long note() {
    requireOpen();
    return pool.note(this);
  }

  /**
   * Whether the system can read the chunk, whose disk may have failed: what reads it nevertheless
   * gets an {@link InternalError}, or ends the process where it is native code. True where the
   * system does not tell. Waits for the disk.
   *
   * @throws IllegalStateException when this pin has ended
   */
  public boolean isReadable() {
    requireOpen();
    int result = NativePool.isReadable(pool.address(), slotAndGeneration, shard);
    Reference.reachabilityFence(pool);
    return result != -Errno.EIO;
  }

  private void requireOpen() {
    if (hasEnded()) {
      throw new IllegalStateException("the chunk's memory belongs to the pool again");
    }
  }

  /** Ends the pin. Further calls do nothing. */
  @Override
  public void close() {
    if (end()) {
      pool.unpin(slotAndGeneration, shard, length);
    }
  }
}
