package io.oap.spark.dataframe

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._

import io.oap.cache.vector.{VectorChunk, VectorKind}
import io.oap.spark.vector.{FlatVector, VectorType}

/**
 * What Spark keeps of a batch: of each column the least and the greatest value, how many are null, how
 * many rows there are, and the bytes that its own batch would have uncompressed. By the first two
 * it passes over batches; by the bytes it plans, so that they are those of Spark's own batches.
 *
 * In the bounds NaN is the greatest value, as it is in comparisons.
 */
private object BatchStatistics {
  private val NullBytes = 4L
  private val LengthBytes = 4L
  private val DecimalBytes = 8L

  def of(rows: Int, columns: Seq[FlatVector], forms: Seq[VectorType]): InternalRow =
    new GenericInternalRow(columns.zip(forms).flatMap { case (column, form) =>
      val (lower, upper) = bounds(column, form, rows)
      Array[Any](lower, upper, column.numNulls, rows, bytes(column, form, rows))
    }.toArray)

  private def bytes(column: FlatVector, form: VectorType, rows: Int): Long = {
    val values = form.dataType match {
      case _: DecimalType => DecimalBytes * (rows - column.numNulls)
      case _ if form.kind != VectorKind.BYTES =>
        form.kind.bytes.toLong * (rows - column.numNulls)
      case _ => sum(column, rows)(LengthBytes + column.length(_))
    }
    values + NullBytes * column.numNulls
  }

  private def bounds(column: FlatVector, form: VectorType, rows: Int): (Any, Any) =
    if (column.numNulls == rows) (null, null)
    else {
      form.dataType match {
        case BooleanType => longs(column, rows)(i => if (column.getBoolean(i)) 1 else 0)(_ == 1)
        case ByteType => longs(column, rows)(column.getByte(_).toLong)(_.toByte)
        case ShortType => longs(column, rows)(column.getShort(_).toLong)(_.toShort)
        case FloatType => floats(column, rows)(column.getFloat(_).toDouble)(_.toFloat)
        case DoubleType => floats(column, rows)(column.getDouble(_))(identity[Double])
        case decimal: DecimalType if form.kind != VectorKind.BYTES =>
          integers(column, form, rows)(
            Decimal.createUnsafe(_, decimal.precision, decimal.scale))
        case decimal: DecimalType =>
          ordered(column, rows)(column.getDecimal(_, decimal.precision, decimal.scale))(
            _ compareTo _)
        case string: StringType =>
          val (lower, upper) = ordered(column, rows)(column.getUTF8String(_))(
            _.semanticCompare(_, string.collationId))
          (lower.copy, upper.copy)
        case BinaryType => (null, null) // Spark compares none
        case _ if form.kind == VectorKind.I32 => integers(column, form, rows)(_.toInt)
        case _ => integers(column, form, rows)(identity[Long])
      }
    }

  /** Bounds of the types that nearly all columns have, by loops over plain arrays. */
  private def integers(column: FlatVector, form: VectorType, rows: Int)(
      of: Long => Any): (Any, Any) = {
    var lower = Long.MaxValue
    var upper = Long.MinValue
    var first = 0
    while (first < rows) {
      val count = math.min(VectorChunk.ZONE_ROWS, rows - first)
      val ints = if (form.kind == VectorKind.I32) column.getInts(first, count) else null
      val longs = if (form.kind == VectorKind.I32) null else column.getLongs(first, count)
      var i = 0
      while (i < count) {
        if (!column.hasNull || !column.isNullAt(first + i)) {
          val value = if (ints != null) ints(i).toLong else longs(i)
          lower = math.min(lower, value)
          upper = math.max(upper, value)
        }
        i += 1
      }
      first += count
    }
    (of(lower), of(upper))
  }

  private def longs(
      column: FlatVector,
      rows: Int)(value: Int => Long)(of: Long => Any): (Any, Any) = {
    var lower = Long.MaxValue
    var upper = Long.MinValue
    var i = 0
    while (i < rows) {
      if (!column.isNullAt(i)) {
        val one = value(i)
        lower = math.min(lower, one)
        upper = math.max(upper, one)
      }
      i += 1
    }
    (of(lower), of(upper))
  }

  private def floats(column: FlatVector, rows: Int)(value: Int => Double)(
      of: Double => Any): (Any, Any) = {
    var lower = Double.NaN
    var upper = Double.NegativeInfinity
    var i = 0
    while (i < rows) {
      if (!column.isNullAt(i)) {
        val one = value(i)
        if (java.lang.Double.compare(one, lower) < 0) lower = one
        if (java.lang.Double.compare(one, upper) > 0) upper = one
      }
      i += 1
    }
    (of(lower), of(upper))
  }

  private def ordered[T <: AnyRef](column: FlatVector, rows: Int)(value: Int => T)(
      compare: (T, T) => Int): (T, T) = {
    var lower = null.asInstanceOf[T]
    var upper = null.asInstanceOf[T]
    var i = 0
    while (i < rows) {
      if (!column.isNullAt(i)) {
        val one = value(i)
        if (lower == null || compare(one, lower) < 0) lower = one
        if (upper == null || compare(one, upper) > 0) upper = one
      }
      i += 1
    }
    (lower, upper)
  }

  private def sum(column: FlatVector, rows: Int)(value: Int => Long): Long = {
    var all = 0L
    var i = 0
    while (i < rows) {
      if (!column.isNullAt(i)) all += value(i)
      i += 1
    }
    all
  }
}
