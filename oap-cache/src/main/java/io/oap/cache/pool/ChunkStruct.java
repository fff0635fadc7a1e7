package io.oap.cache.pool;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A C {@code oap_chunk} that belongs to one thread: native code writes it, Java reads it. One per
 * thread instead of one per call, so that a hit allocates nothing but its {@link Pin}.
 */
final class ChunkStruct {

  // Offsets in oap_chunk (native/include/oap_pool.h).
  private static final int BYTES = 0;
  private static final int SLOT_AND_GENERATION = 8;
  private static final int PIECES = 16;
  private static final int SHARD = 20;
  private static final int FIRST_PIECE = 24;
  private static final int PIECE_POSITION = 8;
  private static final int PIECE_BYTES = 16;
  private static final int PIECE_SIZE = 24;
  private static final int MOST_PIECES = 4;

  private static final ThreadLocal<ChunkStruct> OF_THREAD =
      ThreadLocal.withInitial(ChunkStruct::new);

  private final ByteBuffer memory =
      ByteBuffer.allocateDirect(FIRST_PIECE + MOST_PIECES * PIECE_SIZE)
          .order(ByteOrder.nativeOrder());

  /** Where native code writes. */
  final long address = NativePool.address(memory);

  /** Returns the memory of the calling thread. */
  static ChunkStruct ofThread() {
    return OF_THREAD.get();
  }

  long bytes() {
    return memory.getLong(BYTES);
  }

  /** The slot in the low, the generation in the high half on either byte order that Linux has. */
  long slotAndGeneration() {
    return Integer.toUnsignedLong(memory.getInt(SLOT_AND_GENERATION))
        | (long) memory.getInt(SLOT_AND_GENERATION + 4) << 32;
  }

  int pieces() {
    return memory.getInt(PIECES);
  }

  int shard() {
    return memory.getInt(SHARD);
  }

  long piecePosition(int i) {
    return memory.getLong(FIRST_PIECE + i * PIECE_SIZE + PIECE_POSITION);
  }

  long pieceBytes(int i) {
    return memory.getLong(FIRST_PIECE + i * PIECE_SIZE + PIECE_BYTES);
  }
}
