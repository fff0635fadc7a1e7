package io.oap.spark.internals;

import java.lang.invoke.VarHandle;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;

/**
 * The null flags of Spark's vectors as the array they are. Spark has no call for them but one per
 * row. Where this Spark keeps them in another way they are not readable here. Thread-safe.
 */
public final class OnHeapNulls {
  private static final VarHandle NULLS =
      PrivateFields.find(OnHeapColumnVector.class, "nulls", byte[].class);

  private OnHeapNulls() {}

  /** Whether this Spark lets them be read. */
  public static boolean areReadable() {
    return NULLS != null;
  }

  /** A byte per row, 1 where the row is null; not to be changed. Of a vector of more than nulls. */
  public static byte[] of(OnHeapColumnVector vector) {
    return (byte[]) NULLS.get(vector);
  }
}
