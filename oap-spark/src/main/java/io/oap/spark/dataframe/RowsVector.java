package io.oap.spark.dataframe;

import io.oap.spark.vector.FlatVector;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** One flat column of consecutive packed rows, read where they lie. For one thread. */
final class RowsVector extends FlatVector {
  private final PackedRows rows;
  private final int ordinal;
  private final UnsafeRow row;
  private final int nullWord; // where the column's null bit stands in a row
  private final int field; // where its value of fixed width does
  private int first;

  /**
   * @param ordinal the column's place in the rows
   */
  RowsVector(PackedRows rows, int ordinal, DataType type) {
    super(type);
    this.rows = rows;
    this.ordinal = ordinal;
    row = new UnsafeRow(rows.fields());
    nullWord = Platform.BYTE_ARRAY_OFFSET + Long.BYTES * (ordinal / Long.SIZE);
    field =
        Platform.BYTE_ARRAY_OFFSET
            + UnsafeRow.calculateBitSetWidthInBytes(rows.fields())
            + Long.BYTES * ordinal;
  }

  /** Makes the vector stand for some of the rows. */
  void select(int from, int count) {
    first = from;
    int nulls = 0;
    for (int i = 0; i < count; i++) {
      nulls += isNullAt(i) ? 1 : 0;
    }
    nullCount = nulls;
  }

  @Override
  public int length(int i) {
    return (int) getLong(i);
  }

  /** Where a row's value of fixed width stands in the rows' bytes. */
  private long at(int i) {
    return field + (long) rows.start(first + i);
  }

  private UnsafeRow row(int i) {
    rows.point(row, first + i);
    return row;
  }

  @Override
  public void close() {
    // The rows are on the heap.
  }

  @Override
  public boolean isNullAt(int i) {
    long word = Platform.getLong(rows.array(), nullWord + (long) rows.start(first + i));
    return (word >>> ordinal & 1) != 0; // the shift is by the ordinal's last six bits
  }

  @Override
  public boolean getBoolean(int i) {
    return Platform.getBoolean(rows.array(), at(i));
  }

  @Override
  public byte getByte(int i) {
    return Platform.getByte(rows.array(), at(i));
  }

  @Override
  public short getShort(int i) {
    return Platform.getShort(rows.array(), at(i));
  }

  @Override
  public int getInt(int i) {
    return Platform.getInt(rows.array(), at(i));
  }

  @Override
  public long getLong(int i) {
    return Platform.getLong(rows.array(), at(i));
  }

  // Spark's own loops over values call methods that many classes override.

  @Override
  public int[] getInts(int from, int count) {
    int[] values = new int[count];
    for (int i = 0; i < count; i++) {
      values[i] = getInt(from + i);
    }
    return values;
  }

  @Override
  public long[] getLongs(int from, int count) {
    long[] values = new long[count];
    for (int i = 0; i < count; i++) {
      values[i] = getLong(from + i);
    }
    return values;
  }

  @Override
  public float getFloat(int i) {
    return Platform.getFloat(rows.array(), at(i));
  }

  @Override
  public double getDouble(int i) {
    return Platform.getDouble(rows.array(), at(i));
  }

  @Override
  public Decimal getDecimal(int i, int precision, int scale) {
    return row(i).getDecimal(ordinal, precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int i) {
    return row(i).getUTF8String(ordinal);
  }

  @Override
  public byte[] getBinary(int i) {
    return row(i).getBinary(ordinal);
  }
}
