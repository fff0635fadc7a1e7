package io.oap.spark.dataframe;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;

/** Rows of one batch in Spark's binary form, one behind the other on the heap. For one thread. */
final class PackedRows implements Serializable {

  /** Thirty-two zones of a vector chunk. */
  static final int MOST_ROWS = 1 << 17;

  /** A row that is longer is a batch of its own. */
  static final int MOST_BYTES = 16 << 20;

  private static final long serialVersionUID = 1;

  private final int fields;
  private byte[] bytes;
  private int[] ends;
  private int count;

  /**
   * @param fields of each row
   */
  PackedRows(int fields) {
    this(fields, new byte[1 << 12], new int[1 << 8], 0);
  }

  private PackedRows(int fields, byte[] bytes, int[] ends, int count) {
    this.fields = fields;
    this.bytes = bytes;
    this.ends = ends;
    this.count = count;
  }

  int fields() {
    return fields;
  }

  int count() {
    return count;
  }

  /** Bytes of all rows. */
  int bytes() {
    return start(count);
  }

  /**
   * Whether there is room for a row; for one there is always.
   *
   * @param mostRows that a batch may have
   */
  boolean hasRoomFor(UnsafeRow row, int mostRows) {
    return count == 0 || count < mostRows && (long) bytes() + row.getSizeInBytes() <= MOST_BYTES;
  }

  /** Whether the rows have fewer bytes than a batch may have. */
  boolean isShort() {
    return bytes() < MOST_BYTES;
  }

  /** Adds a copy of a row. */
  void add(UnsafeRow row) {
    int start = bytes();
    int end = Math.addExact(start, row.getSizeInBytes());
    if (end > bytes.length) {
      bytes = Arrays.copyOf(bytes, Math.max(end, (int) Math.min(2L * bytes.length, MOST_BYTES)));
    }
    if (count == ends.length) {
      ends = Arrays.copyOf(ends, 2 * count);
    }
    row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + (long) start);
    ends[count++] = end;
  }

  /** Leaves no row, and not the memory that one long row took. */
  void clear() {
    count = 0;
    if (bytes.length > MOST_BYTES) {
      bytes = new byte[1 << 12];
    }
  }

  /** Makes an object stand for a row; its values are good until the next {@link #clear}. */
  void point(UnsafeRow to, int row) {
    int start = start(row);
    to.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + (long) start, ends[row] - start);
  }

  /** The bytes that rows stand in; another array when a row was added. */
  byte[] array() {
    return bytes;
  }

  /** Where a row begins there, from 0. */
  int start(int row) {
    return row == 0 ? 0 : ends[row - 1];
  }

  /** A copy that takes no more memory than its rows need. */
  PackedRows copy() {
    return new PackedRows(fields, Arrays.copyOf(bytes, bytes()), Arrays.copyOf(ends, count), count);
  }
}
