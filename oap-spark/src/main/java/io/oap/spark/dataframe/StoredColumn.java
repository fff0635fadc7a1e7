package io.oap.spark.dataframe;

import io.oap.cache.DamagedChunkException;
import io.oap.cache.OwnedChunks.OwnedChunk;
import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;

/** A column of a batch as a vector chunk, wherever it lies. */
interface StoredColumn extends AutoCloseable {

  /** What it takes of the heap, roughly. */
  long heapBytes();

  /**
   * Opens the chunk for one thread, which closes it before this.
   *
   * @param memory where it may have to be copied to, and stays until it is closed
   * @throws DamagedChunkException where it was damaged in the pool
   */
  VectorChunk open(GrowingMemory memory);

  /** The bytes of the chunk; not to be written. None where they were damaged in the pool. */
  byte[] bytes();

  /** Whether the chunk has the bytes that it was made with, as far as they may have changed. */
  boolean isSound();

  @Override
  void close();

  /**
   * A column in the pool.
   *
   * @param chunk that the column owns
   */
  record InPool(OwnedChunk chunk) implements StoredColumn {

    /** Of a few small objects. */
    private static final long HEAP_BYTES = 200;

    @Override
    public long heapBytes() {
      return HEAP_BYTES;
    }

    @Override
    public VectorChunk open(GrowingMemory memory) {
      // Pages of a disk that has lost writes may change while they are read.
      return chunk.isInDoubt() ? new OnHeap(chunk.copy()).open(memory) : chunk.open();
    }

    /** Whoever needs the memory, and has the chunk leave it, is not to fail for it. */
    @Override
    public byte[] bytes() {
      try {
        return chunk.copy();
      } catch (DamagedChunkException e) {
        return OnHeap.DAMAGED;
      }
    }

    @Override
    public boolean isSound() {
      return chunk.isSound();
    }

    @Override
    public void close() {
      chunk.close();
    }
  }

  /** A column on the heap. */
  record OnHeap(byte[] bytes) implements StoredColumn {

    /** What stands for the bytes of a chunk that was damaged before it left the pool. */
    private static final byte[] DAMAGED = {};

    @Override
    public long heapBytes() {
      return bytes.length + 32L;
    }

    @Override
    public VectorChunk open(GrowingMemory memory) {
      if (!isSound()) {
        throw new DamagedChunkException();
      }
      NativeBuffer copy = memory.of(bytes.length);
      copy.buffer().put(0, bytes);
      return VectorChunk.open(copy, bytes.length);
    }

    @Override
    public boolean isSound() {
      return bytes.length > 0;
    }

    @Override
    public void close() {
      // The heap has its own way.
    }
  }
}
