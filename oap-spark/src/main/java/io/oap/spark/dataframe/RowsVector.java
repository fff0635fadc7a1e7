package io.oap.spark.dataframe;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** One flat column of consecutive packed rows, read where they lie. For one thread. */
final class RowsVector extends ColumnVector {
  private final PackedRows rows;
  private final int ordinal;
  private final UnsafeRow row;
  private int first;
  private int nullCount;

  /**
   * @param ordinal the column's place in the rows
   */
  RowsVector(PackedRows rows, int ordinal, DataType type) {
    super(type);
    this.rows = rows;
    this.ordinal = ordinal;
    row = new UnsafeRow(rows.fields());
  }

  /** Makes the vector stand for some of the rows. */
  void select(int from, int count) {
    first = from;
    nullCount = 0;
    for (int i = 0; i < count; i++) {
      nullCount += isNullAt(i) ? 1 : 0;
    }
  }

  /** Bytes of a value of variable length. */
  int length(int i) {
    return (int) at(i).getLong(ordinal);
  }

  private UnsafeRow at(int i) {
    rows.point(row, first + i);
    return row;
  }

  @Override
  public void close() {
    // The rows are on the heap.
  }

  @Override
  public void closeIfFreeable() {
    // Nor does a consumer of the batch end them.
  }

  @Override
  public boolean hasNull() {
    return nullCount > 0;
  }

  @Override
  public int numNulls() {
    return nullCount;
  }

  @Override
  public boolean isNullAt(int i) {
    return at(i).isNullAt(ordinal);
  }

  @Override
  public boolean getBoolean(int i) {
    return at(i).getBoolean(ordinal);
  }

  @Override
  public byte getByte(int i) {
    return at(i).getByte(ordinal);
  }

  @Override
  public short getShort(int i) {
    return at(i).getShort(ordinal);
  }

  @Override
  public int getInt(int i) {
    return at(i).getInt(ordinal);
  }

  @Override
  public long getLong(int i) {
    return at(i).getLong(ordinal);
  }

  @Override
  public float getFloat(int i) {
    return at(i).getFloat(ordinal);
  }

  @Override
  public double getDouble(int i) {
    return at(i).getDouble(ordinal);
  }

  @Override
  public Decimal getDecimal(int i, int precision, int scale) {
    return at(i).getDecimal(ordinal, precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int i) {
    return at(i).getUTF8String(ordinal);
  }

  @Override
  public byte[] getBinary(int i) {
    return at(i).getBinary(ordinal);
  }

  @Override
  public ColumnarArray getArray(int i) {
    throw new UnsupportedOperationException("a flat column has no arrays");
  }

  @Override
  public ColumnarMap getMap(int i) {
    throw new UnsupportedOperationException("a flat column has no maps");
  }

  @Override
  public ColumnVector getChild(int child) {
    throw new UnsupportedOperationException("a flat column has no children");
  }
}
