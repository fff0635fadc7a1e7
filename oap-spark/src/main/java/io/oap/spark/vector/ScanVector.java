package io.oap.spark.vector;

import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorKind;
import org.apache.spark.sql.types.DataType;

/**
 * One flat column of a batch that is filled from vector chunks. Values of variable length stay
 * where they are, in pinned chunks, and only their addresses and lengths stand here. For one task
 * thread; a thread that outlives the task may read on, and gets values that mean nothing.
 */
public final class ScanVector extends OffHeapVector {
  private final NativeBuffer memory; // which is there as long as it is reachable
  private VectorChunk chunk; // that the addresses of values were taken from; null: there are none

  /**
   * @param type a flat Spark type
   * @param kind how its values lie in memory
   * @param capacity rows
   */
  public ScanVector(DataType type, VectorKind kind, int capacity) {
    this(type, kind, capacity, new NativeBuffer(capacity * rowBytes(kind)));
  }

  private ScanVector(DataType type, VectorKind kind, int capacity, NativeBuffer memory) {
    super(type, kind, capacity, memory.address());
    this.memory = memory;
  }

  /** Empties the vector for the next batch. */
  public void reset() {
    nullCount = 0;
    chunk = null;
  }

  /**
   * Writes rows of a zone behind those that are there.
   *
   * @param from a chunk of this vector's type, the same one until the next {@link #reset}
   * @param rows address of the row numbers, or 0 for all of the zone
   * @param count how many they are
   * @param at rows that are there already
   */
  public void append(VectorChunk from, int zone, long rows, int count, int at) {
    if (width == 0) {
      chunk = from;
      nullCount +=
          from.unpackBytes(
              zone,
              rows,
              count,
              values + (long) ADDRESS_BYTES * at,
              lengths + (long) LENGTH_BYTES * at,
              nulls + at);
    } else {
      nullCount += from.unpack(zone, rows, count, values + (long) width * at, nulls + at);
    }
  }

  /**
   * To be called before the chunk is closed that it was filled from, where another thread may still
   * read: what the chunk's reader has put together of several pieces is kept for it. It may be
   * filled again.
   */
  @Override
  public void close() {
    if (chunk != null) {
      chunk.closeAfter(this);
      chunk = null;
    }
  }
}
