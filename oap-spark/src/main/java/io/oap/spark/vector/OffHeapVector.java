package io.oap.spark.vector;

import io.oap.cache.vector.VectorKind;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * One flat column of a batch in memory outside the Java heap, which the subclass has: values or,
 * where they vary in length, their addresses and lengths; and a byte for each row, not 0 where it
 * is null. For one thread.
 */
public abstract class OffHeapVector extends FlatVector {
  protected static final int ADDRESS_BYTES = 8;
  protected static final int LENGTH_BYTES = 4;

  /** Bytes of a value; 0 where it varies. */
  protected final int width;

  protected final long values;
  protected final long lengths;
  protected final long nulls;

  /**
   * @param type a flat Spark type
   * @param kind how its values lie in memory
   * @param capacity rows
   * @param memory address of memory for so many rows, at a multiple of 8 bytes
   */
  protected OffHeapVector(DataType type, VectorKind kind, int capacity, long memory) {
    super(type);
    width = kind.bytes();
    // The widest first, so that each part is aligned to its values.
    int valueBytes = capacity * (width == 0 ? ADDRESS_BYTES : width);
    int lengthBytes = width == 0 ? capacity * LENGTH_BYTES : 0;
    values = memory;
    lengths = values + valueBytes;
    nulls = lengths + lengthBytes;
  }

  /** Memory that a row takes, without a value that varies in length. */
  public static int rowBytes(VectorKind kind) {
    return (kind.bytes() == 0 ? ADDRESS_BYTES + LENGTH_BYTES : kind.bytes()) + 1;
  }

  @Override
  public final boolean isNullAt(int row) {
    return nullCount > 0 && Platform.getByte(null, nulls + row) != 0;
  }

  @Override
  public final boolean getBoolean(int row) {
    return Platform.getByte(null, values + row) != 0;
  }

  @Override
  public final byte getByte(int row) {
    return Platform.getByte(null, values + row);
  }

  @Override
  public final short getShort(int row) {
    return Platform.getShort(null, values + 2L * row);
  }

  @Override
  public final int getInt(int row) {
    return Platform.getInt(null, values + 4L * row);
  }

  @Override
  public final long getLong(int row) {
    return Platform.getLong(null, values + 8L * row);
  }

  @Override
  public final float getFloat(int row) {
    return Platform.getFloat(null, values + 4L * row);
  }

  @Override
  public final double getDouble(int row) {
    return Platform.getDouble(null, values + 8L * row);
  }

  @Override
  public final Decimal getDecimal(int row, int precision, int scale) {
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
  public final UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    return UTF8String.fromAddress(null, getLong(row), length(row));
  }

  @Override
  public final byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    byte[] copy = new byte[length(row)];
    Platform.copyMemory(null, getLong(row), copy, Platform.BYTE_ARRAY_OFFSET, copy.length);
    return copy;
  }

  // Spark's own loops over values call methods that many classes override.

  @Override
  public final int[] getInts(int from, int count) {
    int[] copy = new int[count];
    Platform.copyMemory(
        null, values + 4L * from, copy, Platform.INT_ARRAY_OFFSET, (long) Integer.BYTES * count);
    return copy;
  }

  @Override
  public final long[] getLongs(int from, int count) {
    long[] copy = new long[count];
    Platform.copyMemory(
        null, values + 8L * from, copy, Platform.LONG_ARRAY_OFFSET, (long) Long.BYTES * count);
    return copy;
  }

  @Override
  public final int length(int row) {
    return Platform.getInt(null, lengths + (long) LENGTH_BYTES * row);
  }
}
