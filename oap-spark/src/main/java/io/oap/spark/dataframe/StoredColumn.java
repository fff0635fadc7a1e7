package io.oap.spark.dataframe;

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
   */
  VectorChunk open(GrowingMemory memory);

  /** The bytes of the chunk; not to be written. */
  byte[] bytes();

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
      return chunk.open();
    }

    @Override
    public byte[] bytes() {
      return chunk.copy();
    }

    @Override
    public void close() {
      chunk.close();
    }
  }

  /** A column on the heap. */
  record OnHeap(byte[] bytes) implements StoredColumn {

    @Override
    public long heapBytes() {
      return bytes.length + 32L;
    }

    @Override
    public VectorChunk open(GrowingMemory memory) {
      NativeBuffer copy = memory.of(bytes.length);
      copy.buffer().put(0, bytes);
      return VectorChunk.open(copy, bytes.length);
    }

    @Override
    public void close() {
      // The heap has its own way.
    }
  }
}
