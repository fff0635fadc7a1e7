package io.oap.spark.vector

import java.nio.charset.StandardCharsets.UTF_8

import com.google.common.hash.Hashing
import org.apache.spark.sql.catalyst.types.{
  PhysicalBinaryType,
  PhysicalBooleanType,
  PhysicalByteType,
  PhysicalDataType,
  PhysicalDecimalType,
  PhysicalDoubleType,
  PhysicalFloatType,
  PhysicalIntegerType,
  PhysicalLongType,
  PhysicalShortType,
  PhysicalStringType
}
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnVector

import io.oap.cache.vector.VectorKind
import io.oap.common.EntryKind

/**
 * How values of a Spark type lie in a vector chunk.
 *
 * @param dataType the Spark type that the reader hands over
 * @param kind how its values lie in memory, in Spark's column vectors as well as in vector chunks
 */
private[spark] final case class VectorType(dataType: DataType, kind: VectorKind) {

  def isBoolean: Boolean = dataType == BooleanType

  def isDecimal: Boolean = dataType.isInstanceOf[DecimalType]

  /** A value that is not null of a column of decimals. */
  def decimal(vector: ColumnVector, row: Int): Decimal = {
    val wanted = dataType.asInstanceOf[DecimalType]
    vector.getDecimal(row, wanted.precision, wanted.scale)
  }

  def isString: Boolean = dataType.isInstanceOf[StringType]

  /**
   * The number that stands in the key of such a chunk for everything that its values depend on
   * besides the bytes in the file: the type asked for and, of dates and timestamps, how a file's
   * calendar is turned into Spark's.
   *
   * @param calendar all that the turning depends on, as text
   */
  def representation(calendar: String): Long = {
    val depends = dataType match {
      case DateType | TimestampType | TimestampNTZType => s"${dataType.json} ${calendar}"
      case _ => dataType.json
    }
    EntryKind.VECTOR.representation(
      Hashing.sha256().hashString(s"vector 1 $depends", UTF_8).asLong())
  }
}

private[spark] object VectorType {

  /** The form of a type's values; nested types and those made of several values have none. */
  def of(dataType: DataType): Option[VectorType] = {
    val kind = PhysicalDataType(dataType) match {
      case PhysicalBooleanType | PhysicalByteType => Some(VectorKind.I8)
      case PhysicalShortType => Some(VectorKind.I16)
      case PhysicalIntegerType => Some(VectorKind.I32)
      case PhysicalLongType => Some(VectorKind.I64)
      case PhysicalFloatType => Some(VectorKind.F32)
      case PhysicalDoubleType => Some(VectorKind.F64)
      case decimal: PhysicalDecimalType if decimal.precision <= Decimal.MAX_INT_DIGITS =>
        Some(VectorKind.I32)
      case decimal: PhysicalDecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS =>
        Some(VectorKind.I64)
      case _: PhysicalDecimalType | _: PhysicalStringType | PhysicalBinaryType =>
        Some(VectorKind.BYTES)
      case _ => None
    }
    kind.map(VectorType(dataType, _))
  }
}
