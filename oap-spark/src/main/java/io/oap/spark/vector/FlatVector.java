package io.oap.spark.vector;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;

/** A column without nested values, whose owner fills it again for the next batch. */
public abstract class FlatVector extends ColumnVector {

  /** How many values of the batch are null; set by who fills it. */
  protected int nullCount;

  protected FlatVector(DataType type) {
    super(type);
  }

  /** Bytes of a value that varies in length; not of one that is null. */
  public abstract int length(int row);

  @Override
  public final void closeIfFreeable() {
    // Spark asks after each batch, but this column is filled again for the next one.
  }

  @Override
  public final boolean hasNull() {
    return nullCount > 0;
  }

  @Override
  public final int numNulls() {
    return nullCount;
  }

  @Override
  public final ColumnarArray getArray(int row) {
    throw new UnsupportedOperationException("a flat column has no arrays");
  }

  @Override
  public final ColumnarMap getMap(int row) {
    throw new UnsupportedOperationException("a flat column has no maps");
  }

  @Override
  public final ColumnVector getChild(int ordinal) {
    throw new UnsupportedOperationException("a flat column has no children");
  }
}
