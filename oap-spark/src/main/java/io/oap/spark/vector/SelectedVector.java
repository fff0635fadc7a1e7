package io.oap.spark.vector;

import io.oap.cache.vector.NativeBuffer;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Some rows of another column, one behind the other: those whose numbers stand, as unsigned 16-bit
 * numbers, in memory that the owner fills for each batch. Closing it leaves the other column open.
 */
public final class SelectedVector extends ColumnVector {
  private final ColumnVector all;
  private final NativeBuffer rows;

  /**
   * @param all the column selected from
   * @param rows where the row numbers stand
   */
  public SelectedVector(ColumnVector all, NativeBuffer rows) {
    super(all.dataType());
    this.all = all;
    this.rows = rows;
  }

  private int at(int row) {
    return Short.toUnsignedInt(Platform.getShort(null, rows.address() + 2L * row));
  }

  @Override
  public void close() {
    // The reader that fills the other column closes it.
  }

  @Override
  public void closeIfFreeable() {
    // Spark asks after each batch, but this column is filled again for the next one.
  }

  @Override
  public boolean hasNull() {
    return all.hasNull();
  }

  /** At most so many: those of the rows that are not selected count too. */
  @Override
  public int numNulls() {
    return all.numNulls();
  }

  @Override
  public boolean isNullAt(int row) {
    return all.isNullAt(at(row));
  }

  @Override
  public boolean getBoolean(int row) {
    return all.getBoolean(at(row));
  }

  @Override
  public byte getByte(int row) {
    return all.getByte(at(row));
  }

  @Override
  public short getShort(int row) {
    return all.getShort(at(row));
  }

  @Override
  public int getInt(int row) {
    return all.getInt(at(row));
  }

  @Override
  public long getLong(int row) {
    return all.getLong(at(row));
  }

  @Override
  public float getFloat(int row) {
    return all.getFloat(at(row));
  }

  @Override
  public double getDouble(int row) {
    return all.getDouble(at(row));
  }

  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    return all.getDecimal(at(row), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    return all.getUTF8String(at(row));
  }

  @Override
  public byte[] getBinary(int row) {
    return all.getBinary(at(row));
  }

  @Override
  public ColumnarArray getArray(int row) {
    return all.getArray(at(row));
  }

  @Override
  public ColumnarMap getMap(int row) {
    return all.getMap(at(row));
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return new SelectedVector(all.getChild(ordinal), rows);
  }
}
