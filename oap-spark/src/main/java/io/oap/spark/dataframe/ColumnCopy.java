package io.oap.spark.dataframe;

import io.oap.cache.vector.VectorChunk;
import io.oap.cache.vector.VectorEncoder;
import io.oap.cache.vector.VectorKind;
import io.oap.spark.internals.OnHeapNulls;
import io.oap.spark.vector.OffHeapVector;
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A copy of one flat column, put together of the columnar batches that a plan gives, whatever
 * vectors they have. For one thread.
 */
final class ColumnCopy extends OffHeapVector {

  /** Bytes that the first values of varying length find room in. */
  private static final int FIRST_BYTES = 1 << 16;

  private final VectorKind kind;
  private final int capacity;
  private final CopyMemory memory;
  private long bytes; // address of values that vary in length, which stand at offsets until sealed
  private long room; // bytes that there is room for there
  private int rows;
  private int end;

  /**
   * @param capacity rows
   * @param memory that the copy lies in; once it is closed nothing here may be called
   * @throws OutOfMemoryError when there is none
   */
  ColumnCopy(DataType type, VectorKind kind, int capacity, CopyMemory memory) {
    super(type, kind, capacity, memory.allocate((long) capacity * rowBytes(kind)));
    this.kind = kind;
    this.capacity = capacity;
    this.memory = memory;
    if (kind == VectorKind.BYTES) {
      bytes = memory.allocate(FIRST_BYTES);
      room = FIRST_BYTES;
    }
  }

  /** Leaves no row. */
  void clear() {
    rows = 0;
    nullCount = 0;
    end = 0;
  }

  /** Bytes of the values that vary in length. */
  int bytes() {
    return end;
  }

  /**
   * Adds rows of a vector behind those that are there.
   *
   * @param mostBytes that the copy's values of varying length may have
   * @return false, and then nothing was added, where they would have more
   */
  boolean append(ColumnVector from, int first, int count, long mostBytes) {
    if (rows + count > capacity) {
      throw new IllegalArgumentException("no room for " + count + " rows");
    }
    int found = copyNulls(from, first, count);
    if (width > 0) {
      if (found == 0 || isPlain(from)) {
        copyValues(from, first, count, rows);
      } else {
        copyPresent(from, first, count);
      }
    } else if (!copyBytes(from, first, count, mostBytes)) {
      return false;
    }
    rows += count;
    nullCount += found;
    return true;
  }

  /** Takes back the rows that were added last. */
  void truncate(int count, int bytesThen) {
    for (int row = count; row < rows; row++) {
      nullCount -= isNull(row) ? 1 : 0;
    }
    rows = count;
    end = bytesThen;
  }

  private boolean isNull(int row) {
    return Platform.getByte(null, nulls + row) != 0;
  }

  private int copyNulls(ColumnVector from, int first, int count) {
    long to = nulls + rows;
    if (!from.hasNull()) {
      Platform.setMemory(to, (byte) 0, count);
      return 0;
    }
    if (from instanceof OnHeapColumnVector heap && OnHeapNulls.areReadable() && !heap.isAllNull()) {
      Platform.copyMemory(
          OnHeapNulls.of(heap), Platform.BYTE_ARRAY_OFFSET + (long) first, null, to, count);
    } else {
      for (int i = 0; i < count; i++) {
        Platform.putBoolean(null, to + i, from.isNullAt(first + i));
      }
    }
    int found = 0;
    for (int i = 0; i < count; i++) {
      found += Platform.getByte(null, to + i) != 0 ? 1 : 0;
    }
    return found;
  }

  /** Copies one by one what is not null: other vectors need not have anything for a row that is. */
  private void copyPresent(ColumnVector from, int first, int count) {
    for (int i = 0; i < count; i++) {
      if (!isNull(rows + i)) {
        copyValues(from, first + i, 1, rows + i);
      }
    }
  }

  /** Copies to a row and those after it. What a null row has is anything. */
  private void copyValues(ColumnVector from, int first, int count, int row) {
    if (dataType() instanceof DecimalType decimal && !isPlain(from)) {
      copyDecimals(from, first, count, row, decimal);
      return;
    }
    long to = values + (long) width * row;
    switch (kind) {
      case I8 -> {
        if (dataType() instanceof BooleanType) {
          copy(from.getBooleans(first, count), Platform.BOOLEAN_ARRAY_OFFSET, count, to);
        } else {
          copy(from.getBytes(first, count), Platform.BYTE_ARRAY_OFFSET, count, to);
        }
      }
      case I16 -> copy(from.getShorts(first, count), Platform.SHORT_ARRAY_OFFSET, count, to);
      case I32 -> copy(from.getInts(first, count), Platform.INT_ARRAY_OFFSET, count, to);
      case I64 -> copy(from.getLongs(first, count), Platform.LONG_ARRAY_OFFSET, count, to);
      case F32 -> copy(from.getFloats(first, count), Platform.FLOAT_ARRAY_OFFSET, count, to);
      case F64 -> copy(from.getDoubles(first, count), Platform.DOUBLE_ARRAY_OFFSET, count, to);
      case BYTES -> throw new IllegalStateException("bytes have no fixed width");
    }
  }

  private void copy(Object array, int offset, int count, long to) {
    Platform.copyMemory(array, offset, null, to, (long) width * count);
  }

  /**
   * Whether a vector is Spark's or ours: it gives a decimal's unscaled value by the calls for
   * integers and bytes, and something for a row that is null.
   */
  private static boolean isPlain(ColumnVector from) {
    return from instanceof WritableColumnVector || from instanceof OffHeapVector;
  }

  private void copyDecimals(ColumnVector from, int first, int count, int row, DecimalType type) {
    for (int i = 0; i < count; i++) {
      if (!isNull(row + i)) {
        long value = from.getDecimal(first + i, type.precision(), type.scale()).toUnscaledLong();
        long to = values + (long) width * (row + i);
        if (kind == VectorKind.I32) {
          Platform.putInt(null, to, (int) value);
        } else {
          Platform.putLong(null, to, value);
        }
      }
    }
  }

  private boolean copyBytes(ColumnVector from, int first, int count, long mostBytes) {
    int at = end;
    for (int i = 0; i < count; i++) {
      int row = rows + i;
      int length = 0;
      if (!isNull(row)) {
        if (dataType() instanceof StringType) {
          UTF8String string = from.getUTF8String(first + i);
          length = string.numBytes();
          if (!makeRoom(at, length, mostBytes)) {
            return false;
          }
          string.writeToMemory(null, bytes + at);
        } else {
          byte[] value = binary(from, first + i);
          length = value.length;
          if (!makeRoom(at, length, mostBytes)) {
            return false;
          }
          Platform.copyMemory(value, Platform.BYTE_ARRAY_OFFSET, null, bytes + at, length);
        }
      }
      Platform.putLong(null, values + (long) ADDRESS_BYTES * row, at);
      Platform.putInt(null, lengths + (long) LENGTH_BYTES * row, length);
      at += length;
    }
    end = at;
    return true;
  }

  private byte[] binary(ColumnVector from, int row) {
    return dataType() instanceof DecimalType type && !isPlain(from)
        ? from.getDecimal(row, type.precision(), type.scale())
            .toJavaBigDecimal()
            .unscaledValue()
            .toByteArray()
        : from.getBinary(row);
  }

  private boolean makeRoom(int used, int more, long mostBytes) {
    long needed = (long) used + more;
    if (needed > mostBytes) {
      return false;
    }
    if (needed > room) {
      long larger = Math.max(needed, Math.min(2 * room, mostBytes));
      bytes = memory.enlarge(bytes, used, larger);
      room = larger;
    }
    return true;
  }

  /** Makes the values readable. Nothing can be added until it is cleared. */
  void seal() {
    if (width == 0) {
      for (int row = 0; row < rows; row++) {
        long at = values + (long) ADDRESS_BYTES * row;
        Platform.putLong(null, at, bytes + Platform.getLong(null, at));
      }
    }
  }

  /** Gives all rows to an encoder, zone by zone. */
  void encode(VectorEncoder encoder) {
    for (int first = 0; first < rows; first += VectorChunk.ZONE_ROWS) {
      int some = Math.min(VectorChunk.ZONE_ROWS, rows - first);
      long isNull = nullCount > 0 ? nulls + first : 0;
      if (width > 0) {
        encoder.add(values + (long) width * first, isNull, some);
      } else {
        encoder.addBytes(
            values + (long) ADDRESS_BYTES * first,
            lengths + (long) LENGTH_BYTES * first,
            isNull,
            some);
      }
    }
  }

  @Override
  public void close() {
    // Its memory is not its own.
  }
}
