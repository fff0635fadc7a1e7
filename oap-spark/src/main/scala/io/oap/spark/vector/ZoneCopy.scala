package io.oap.spark.vector

import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.vectorized.ColumnVector
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import io.oap.cache.vector.{NativeBuffer, VectorChunk, VectorEncoder, VectorKind}
import io.oap.spark.internals.OnHeapNulls

/**
 * Hands zones of Spark's column vectors to encoders and filters, by way of memory that it reuses.
 * For one thread.
 */
private[spark] final class ZoneCopy {
  private val rowsAtMost = VectorChunk.ZONE_ROWS
  private val values = new NativeBuffer(rowsAtMost * 8)
  private val ids = new NativeBuffer(rowsAtMost * 4)
  private val lengths = new NativeBuffer(rowsAtMost * 4)
  private val nulls = new NativeBuffer(rowsAtMost)
  private var bytes = new NativeBuffer(1 << 16)

  /**
   * Adds the first rows of a vector as the encoder's next zone; an encoder is for one chunk.
   *
   * @return false, and then nothing was added, where the rows have more than
   *     [[ZoneCopy.MostBytes]]
   */
  def add(vector: ColumnVector, form: VectorType, rows: Int, encoder: VectorEncoder): Boolean = {
    requireZone(rows)
    val nullFlags = if (vector.hasNull) copyNulls(vector, rows) else 0L
    vector match {
      // A Parquet chunk has one dictionary: it need not be asked for every row.
      case coded: WritableColumnVector if coded.hasDictionary =>
        copy(coded.getDictionaryIds.getInts(0, rows), Platform.INT_ARRAY_OFFSET, ids, 4 * rows)
        encoder.addIds(ids.address, nullFlags, rows) || {
          encoder.learn(ids.address)
          addValues(vector, form, rows, nullFlags, encoder)
        }
      case _ => addValues(vector, form, rows, nullFlags, encoder)
    }
  }

  /** Gives the first rows of a vector of fixed-width values to what filters them. */
  def load(vector: ColumnVector, form: VectorType, rows: Int, into: VectorChunk): Unit = {
    requireZone(rows)
    val nullFlags = if (vector.hasNull) copyNulls(vector, rows) else 0L
    copyValues(vector, form, rows)
    into.setDecoded(values.address, nullFlags, rows)
  }

  /** More would be written behind the memory. */
  private def requireZone(rows: Int): Unit =
    if (rows > rowsAtMost) throw new IllegalArgumentException(s"$rows rows are no zone")

  private def addValues(
      vector: ColumnVector,
      form: VectorType,
      rows: Int,
      nullFlags: Long,
      encoder: VectorEncoder): Boolean =
    if (form.kind == VectorKind.BYTES) {
      val isCopied = copyBytes(vector, form, rows)
      if (isCopied) encoder.addBytes(values.address, lengths.address, nullFlags, rows)
      isCopied
    } else {
      copyValues(vector, form, rows)
      encoder.add(values.address, nullFlags, rows)
      true
    }

  private def copyNulls(vector: ColumnVector, rows: Int): Long = {
    vector match {
      case heap: OnHeapColumnVector if OnHeapNulls.areReadable && !heap.isAllNull =>
        copy(OnHeapNulls.of(heap), Platform.BYTE_ARRAY_OFFSET, nulls, rows)
      case _ =>
        for (row <- 0 until rows) {
          Platform.putBoolean(null, nulls.address + row, vector.isNullAt(row))
        }
    }
    nulls.address
  }

  /** What a null row has is anything; Spark's vectors look up no dictionary for it. */
  private def copyValues(vector: ColumnVector, form: VectorType, rows: Int): Unit =
    form.kind match {
      case VectorKind.I8 if form.isBoolean =>
        copy(vector.getBooleans(0, rows), Platform.BOOLEAN_ARRAY_OFFSET, values, rows)
      case VectorKind.I8 => copy(vector.getBytes(0, rows), Platform.BYTE_ARRAY_OFFSET, values, rows)
      case VectorKind.I16 =>
        copy(vector.getShorts(0, rows), Platform.SHORT_ARRAY_OFFSET, values, 2 * rows)
      case VectorKind.I32 | VectorKind.I64 if isDecimalOnly(vector, form) =>
        copyDecimals(vector, form, rows)
      case VectorKind.I32 =>
        copy(vector.getInts(0, rows), Platform.INT_ARRAY_OFFSET, values, 4 * rows)
      case VectorKind.I64 =>
        copy(vector.getLongs(0, rows), Platform.LONG_ARRAY_OFFSET, values, 8 * rows)
      case VectorKind.F32 =>
        copy(vector.getFloats(0, rows), Platform.FLOAT_ARRAY_OFFSET, values, 4 * rows)
      case VectorKind.F64 =>
        copy(vector.getDoubles(0, rows), Platform.DOUBLE_ARRAY_OFFSET, values, 8 * rows)
      case VectorKind.BYTES => throw new IllegalArgumentException("bytes have no fixed width")
    }

  /** Vectors of Spark's ORC reader give decimals as such alone. */
  private def isDecimalOnly(vector: ColumnVector, form: VectorType): Boolean =
    form.isDecimal && !vector.isInstanceOf[WritableColumnVector]

  private def copyDecimals(vector: ColumnVector, form: VectorType, rows: Int): Unit =
    for (row <- 0 until rows) {
      val value = if (vector.isNullAt(row)) 0L else form.decimal(vector, row).toUnscaledLong
      if (form.kind == VectorKind.I32) values.buffer.putInt(4 * row, value.toInt)
      else values.buffer.putLong(8 * row, value)
    }

  private def copy(array: AnyRef, offset: Int, to: NativeBuffer, bytes: Int): Unit =
    Platform.copyMemory(array, offset.toLong, null, to.address, bytes.toLong)

  /** False where the rows have too many bytes. */
  private def copyBytes(vector: ColumnVector, form: VectorType, rows: Int): Boolean = {
    val offsets = new Array[Int](rows)
    var end = 0L
    var row = 0
    while (row < rows && end <= ZoneCopy.MostBytes) {
      offsets(row) = end.toInt
      val length = if (vector.isNullAt(row)) 0 else putBytes(vector, form, row, end.toInt)
      lengths.buffer.putInt(4 * row, length)
      end += length
      row += 1
    }
    // Only now: the memory may have moved while it grew.
    for (row <- 0 until rows) {
      values.buffer.putLong(8 * row, bytes.address + offsets(row))
    }
    end <= ZoneCopy.MostBytes
  }

  /** The length of a row's value, which is copied if there is room for it. */
  private def putBytes(vector: ColumnVector, form: VectorType, row: Int, at: Int): Int =
    if (form.isString) {
      val string: UTF8String = vector.getUTF8String(row)
      if (makeRoom(at, string.numBytes)) string.writeToMemory(null, bytes.address + at)
      string.numBytes
    } else {
      val value =
        if (isDecimalOnly(vector, form))
          form.decimal(vector, row).toJavaBigDecimal.unscaledValue.toByteArray
        else vector.getBinary(row)
      if (makeRoom(at, value.length)) {
        val to = bytes.address + at
        Platform.copyMemory(value, Platform.BYTE_ARRAY_OFFSET, null, to, value.length)
      }
      value.length
    }

  private def makeRoom(used: Int, more: Int): Boolean = {
    val needed = used.toLong + more
    if (needed > bytes.buffer.capacity && needed <= ZoneCopy.MostBytes) {
      val doubled = math.min(2L * bytes.buffer.capacity, ZoneCopy.MostBytes)
      val larger = new NativeBuffer(math.max(needed, doubled).toInt)
      Platform.copyMemory(null, bytes.address, null, larger.address, used)
      bytes = larger
    }
    needed <= ZoneCopy.MostBytes
  }
}

private[spark] object ZoneCopy {

  /** Bytes of a zone's strings or byte sequences at most. */
  val MostBytes: Long = 24L << 20
}
