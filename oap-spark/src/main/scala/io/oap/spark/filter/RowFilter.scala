package io.oap.spark.filter

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.expressions
import org.apache.spark.sql.catalyst.expressions.{IsNotNull => _, IsNull => _, _}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.oap.cache.vector.VectorKind
import io.oap.spark.vector.VectorType

/**
 * A condition on one column, by which a scan drops rows. A row that does not meet it is not
 * wanted. Spark goes on to filter and join for itself: what a query asks may be left out here, or
 * be weaker, but never stronger. No null meets a condition but [[RowFilter.IsNull]].
 */
private[spark] sealed trait RowFilter extends Serializable {

  /** Name of the column in the read schema. */
  def column: String

  /** Whether it is about nulls only. */
  def isOnNulls: Boolean = false

  /** Bytes of the values it compares with, where these are many. */
  def valueBytes: Long = 0
}

private[spark] object RowFilter {

  /**
   * Integers that a condition compares with one by one. To prepare so many takes some 30 MB of an
   * executor at most; of more only the least and the greatest are kept.
   */
  val MostKeys: Int = 1 << 20

  /** Strings or byte sequences that a condition compares with; more are not compared at all. */
  val MostByteValues: Int = 1 << 16

  /** Bytes of all of them together. */
  val MostValueBytes: Long = 16L << 20

  /** An array's head and what refers to it. */
  private val OverheadOfBytes = 24L

  /** One of some integers, dates, timestamps or unscaled decimals. */
  final case class OneOf(column: String, keys: Array[Long]) extends RowFilter {
    override def valueBytes: Long = 8L * keys.length
    override def toString: String = told(column, keys)
  }

  /** An integer, date, timestamp or unscaled decimal between two, both included. */
  final case class Between(column: String, low: Long, high: Long) extends RowFilter {
    override def toString: String =
      if (high == MaxValue) s"$column >= $low"
      else if (low == MinValue) s"$column <= $high"
      else s"$column BETWEEN $low AND $high"
  }

  /**
   * A floating-point number between two, in Spark's order: NaN is the greatest, -0.0 equals 0.0.
   *
   * @param aboveLow whether the lower end is left out
   * @param belowHigh whether the upper end is left out
   */
  final case class BetweenDoubles(
      column: String,
      low: Double,
      high: Double,
      aboveLow: Boolean = false,
      belowHigh: Boolean = false)
      extends RowFilter {
    override def toString: String =
      if (low == high) s"$column = $low"
      else if (high.isNaN) s"$column ${if (aboveLow) ">" else ">="} $low"
      else s"$column ${if (belowHigh) "<" else "<="} $high"
  }

  /** One of some strings or byte sequences. */
  final case class OneOfBytes(column: String, values: Array[Array[Byte]]) extends RowFilter {
    override def valueBytes: Long = values.map(OverheadOfBytes + _.length.toLong).sum
    override def toString: String = told(column, values.map(new String(_, UTF_8)))
  }

  final case class IsNull(column: String) extends RowFilter {
    override def isOnNulls: Boolean = true
    override def toString: String = s"$column IS NULL"
  }

  final case class IsNotNull(column: String) extends RowFilter {
    override def isOnNulls: Boolean = true
    override def toString: String = s"$column IS NOT NULL"
  }

  /** The conditions without those that others hold: no null meets any but [[IsNull]]. */
  def needed(filters: Seq[RowFilter]): Seq[RowFilter] = {
    val compared = filters.filterNot(_.isOnNulls).map(_.column).toSet
    filters.filter {
      case IsNotNull(column) => !compared.contains(column)
      case _ => true
    }
  }

  /** For EXPLAIN: the values, unless they are many. */
  private def told(column: String, values: Array[_]): String =
    if (values.length <= 10) values.mkString(s"$column IN (", ", ", ")")
    else s"$column IN (${values.length} values)"

  /** What of a query's filters can be told as conditions on single columns. */
  def of(filters: Seq[Expression]): Seq[RowFilter] = filters.flatMap {
    case And(left, right) => of(Seq(left, right))
    case expressions.IsNull(column: Attribute) => Some(IsNull(column.name))
    case expressions.IsNotNull(column: Attribute) => Some(IsNotNull(column.name))
    case EqualTo(column: Attribute, Value(value)) => oneOf(column.name, column.dataType, Seq(value))
    case EqualTo(Value(value), column: Attribute) => oneOf(column.name, column.dataType, Seq(value))
    case EqualNullSafe(column: Attribute, Value(value)) =>
      oneOf(column.name, column.dataType, Seq(value))
    case In(column: Attribute, values) if values.forall(_.isInstanceOf[Literal]) =>
      oneOf(column.name, column.dataType, values.map(_.eval()))
    case InSet(column: Attribute, values) => oneOf(column.name, column.dataType, values.toSeq)
    case comparison: BinaryComparison => between(comparison)
    case _ => None
  }

  /**
   * The condition that a column has one of some values, as Spark's operators hold them; null
   * matches nothing. None for types whose equality is not that of their bits, but for a single
   * floating-point number. Of more than [[MostKeys]] integers, that it lies between the least and
   * the greatest; none for more than [[MostByteValues]] strings or byte sequences.
   */
  def oneOf(column: String, dataType: DataType, values: Seq[Any]): Option[RowFilter] = {
    val keys = values.filter(_ != null)
    dataType match {
      case _ if isInteger(dataType) =>
        val numbers = keys.iterator.map(toLong(_, dataType)).toArray
        if (numbers.length <= MostKeys) Some(OneOf(column, numbers))
        else Some(Between(column, numbers.min, numbers.max))
      case _: StringType | BinaryType if UnsafeRowUtils.isBinaryStable(dataType) =>
        if (keys.size > MostByteValues) None
        else {
          val filter = OneOfBytes(column, keys.map(toBytes).toArray)
          Option.when(filter.valueBytes <= MostValueBytes)(filter)
        }
      case FloatType | DoubleType if keys.size == 1 =>
        val key = toDouble(keys.head)
        Some(BetweenDoubles(column, key, key))
      case _ => None
    }
  }

  private def between(comparison: BinaryComparison): Option[RowFilter] = comparison match {
    case GreaterThan(column: Attribute, Value(low)) => from(column, low, isOpen = true)
    case GreaterThanOrEqual(column: Attribute, Value(low)) => from(column, low, isOpen = false)
    case LessThan(column: Attribute, Value(high)) => to(column, high, isOpen = true)
    case LessThanOrEqual(column: Attribute, Value(high)) => to(column, high, isOpen = false)
    case GreaterThan(value: Literal, column: Attribute) => between(LessThan(column, value))
    case GreaterThanOrEqual(value: Literal, column: Attribute) =>
      between(LessThanOrEqual(column, value))
    case LessThan(value: Literal, column: Attribute) => between(GreaterThan(column, value))
    case LessThanOrEqual(value: Literal, column: Attribute) =>
      between(GreaterThanOrEqual(column, value))
    case _ => None
  }

  /** @param isOpen whether the value itself is left out */
  private def from(column: Attribute, low: Any, isOpen: Boolean): Option[RowFilter] =
    column.dataType match {
      case FloatType | DoubleType =>
        Some(BetweenDoubles(column.name, toDouble(low), Double.NaN, aboveLow = isOpen))
      case dataType if isInteger(dataType) =>
        val first = toLong(low, dataType)
        if (!isOpen) Some(Between(column.name, first, MaxValue))
        else if (first == MaxValue) Some(OneOf(column.name, Array.empty))
        else Some(Between(column.name, first + 1, MaxValue))
      case _ => None
    }

  /** @param isOpen whether the value itself is left out */
  private def to(column: Attribute, high: Any, isOpen: Boolean): Option[RowFilter] =
    column.dataType match {
      case FloatType | DoubleType =>
        val low = Double.NegativeInfinity
        Some(BetweenDoubles(column.name, low, toDouble(high), belowHigh = isOpen))
      case dataType if isInteger(dataType) =>
        val last = toLong(high, dataType)
        if (!isOpen) Some(Between(column.name, MinValue, last))
        else if (last == MinValue) Some(OneOf(column.name, Array.empty))
        else Some(Between(column.name, MinValue, last - 1))
      case _ => None
    }

  private val MinValue = Long.MinValue
  private val MaxValue = Long.MaxValue

  /** A value the query gives, not null. */
  private object Value {
    def unapply(expression: Expression): Option[Any] = expression match {
      case Literal(value, _) if value != null => Some(value)
      case _ => None
    }
  }

  private def toDouble(value: Any): Double = value match {
    case number: Number => number.doubleValue
    case other => throw new IllegalArgumentException(s"$other is no number")
  }

  private val IntegerKinds =
    Set(VectorKind.I8, VectorKind.I16, VectorKind.I32, VectorKind.I64)

  /** Whether its values are integers in vector chunks, in the order Spark has for them. */
  private def isInteger(dataType: DataType): Boolean =
    VectorType.of(dataType).exists(form => IntegerKinds.contains(form.kind))

  private def toLong(value: Any, dataType: DataType): Long = (value, dataType) match {
    case (boolean: Boolean, _) => if (boolean) 1 else 0
    case (decimal: Decimal, exact: DecimalType) =>
      decimal.toJavaBigDecimal.setScale(exact.scale).unscaledValue.longValueExact
    case (number: Number, _) => number.longValue
    case (other, _) => throw new IllegalArgumentException(s"$other is no $dataType")
  }

  private def toBytes(value: Any): Array[Byte] = value match {
    case string: UTF8String => string.getBytes
    case bytes: Array[Byte] => bytes
    case other => throw new IllegalArgumentException(s"$other is no string and no bytes")
  }
}
