package io.oap.spark.vector;

import io.oap.cache.vector.NativeBuffer;
import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorKind;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * One flat column of a batch that is filled from vector chunks. Its memory lies outside the Java
 * heap and lives as long as this object is reachable; values of variable length stay where they
 * are, in pinned chunks, and only their addresses and lengths stand here. For one task thread; a
 * thread that outlives the task may read on, and gets values that mean nothing.
 */
public final class ScanVector extends FlatVector {
  private static final int ADDRESS_BYTES = 8;
  private static final int LENGTH_BYTES = 4;

  private final int width;
  private final NativeBuffer memory; // what the addresses below point into
  private final long values;
  private final long lengths;
  private final long nulls;
  private VectorChunk chunk; // that the addresses of values were taken from; null: there are none

  /**
   * @param type a flat Spark type
   * @param kind how its values lie in memory
   * @param capacity rows
   */
  public ScanVector(DataType type, VectorKind kind, int capacity) {
    super(type);
    width = kind.bytes();
    // The widest first, so that each part is aligned to its values.
    int valueBytes = capacity * (width == 0 ? ADDRESS_BYTES : width);
    int lengthBytes = width == 0 ? capacity * LENGTH_BYTES : 0;
    memory = new NativeBuffer(valueBytes + lengthBytes + capacity);
    values = memory.address();
    lengths = values + valueBytes;
    nulls = lengths + lengthBytes;
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

  @Override
  public boolean isNullAt(int row) {
    return nullCount > 0 && Platform.getByte(null, nulls + row) != 0;
  }

  @Override
  public boolean getBoolean(int row) {
    return Platform.getByte(null, values + row) != 0;
  }

  @Override
  public byte getByte(int row) {
    return Platform.getByte(null, values + row);
  }

  @Override
  public short getShort(int row) {
    return Platform.getShort(null, values + 2L * row);
  }

  @Override
  public int getInt(int row) {
    return Platform.getInt(null, values + 4L * row);
  }

  @Override
  public long getLong(int row) {
    return Platform.getLong(null, values + 8L * row);
  }

  @Override
  public float getFloat(int row) {
    return Platform.getFloat(null, values + 4L * row);
  }

  @Override
  public double getDouble(int row) {
    return Platform.getDouble(null, values + 8L * row);
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    if (precision <= Decimal.MAX_INT_DIGITS()) {
      return Decimal.createUnsafe(getInt(row), precision, scale);
    }
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(getLong(row), precision, scale);
    }
    return Decimal.apply(
        new java.math.BigDecimal(new BigInteger(getBinary(row)), scale), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    return UTF8String.fromAddress(
        null, getLong(row), Platform.getInt(null, lengths + (long) LENGTH_BYTES * row));
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    byte[] copy = new byte[Platform.getInt(null, lengths + (long) LENGTH_BYTES * row)];
    Platform.copyMemory(null, getLong(row), copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    return copy;
  }
}
