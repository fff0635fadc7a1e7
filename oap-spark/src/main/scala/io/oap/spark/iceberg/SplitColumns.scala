package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{FileScanTask, PartitionSpec, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns of a scan as the files of one partition specification have them. A column that the
 * specification takes as it is has one value in each file, which Iceberg takes from the manifest.
 *
 * @param ids by which files know the data columns, in their order
 * @param data columns that are read from files
 * @param constants columns whose values stand in manifests
 * @param places of these values in a file's partition
 * @param order where each column of the read schema stands among data columns and constants
 */
private[iceberg] final case class SplitColumns(
    ids: Seq[Int],
    data: StructType,
    constants: StructType,
    places: Seq[Int],
    order: Seq[Int]) {

  def isInOrder: Boolean = order == order.indices

  /** The values of the constants in the file of a split; nothing where one is of no known class. */
  def values(split: FileScanTask): Option[InternalRow] = {
    val all = constants.zip(places).map { case (field, place) =>
      SplitColumns.value(split.file.partition.get(place, classOf[Object]), field.dataType)
    }
    Option.when(all.forall(_.isDefined))(InternalRow.fromSeq(all.map(_.get)))
  }
}

private[iceberg] object SplitColumns {

  /** Iceberg's own columns, `_file` and its like, have ids from here on. */
  private val LeastReservedId = Int.MaxValue - 1000

  /** Whether an id is that of a column that is not in files as it is. */
  def isReserved(fieldId: Int): Boolean = fieldId >= LeastReservedId

  /**
   * Finds the columns of a scan for one partition specification; none where no file has any, or
   * where a column may be another than the one that files have.
   *
   * @param projection what Iceberg reads
   * @param readSchema Spark's schema of it
   */
  def of(projection: Schema, readSchema: StructType, spec: PartitionSpec): Option[SplitColumns] = {
    val fields = projection.columns.asScala.toSeq
    val partition = spec.partitionType.fields.asScala
    val identities = spec.fields.asScala.zipWithIndex.collect {
      case (field, place) if field.transform.isIdentity => field.sourceId -> place
    }.toMap
    val (constant, data) = fields.indices.partition(i => identities.contains(fields(i).fieldId))
    val places = constant.map(i => identities(fields(i).fieldId))
    val isKnown = fields.map(_.name) == readSchema.fieldNames.toSeq && data.nonEmpty &&
      !fields.exists(field => isReserved(field.fieldId)) &&
      constant.zip(places).forall { case (i, place) =>
        partition(place).`type` == fields(i).`type`
      }
    Option.when(isKnown) {
      val place = (data ++ constant).zipWithIndex.toMap
      SplitColumns(
        data.map(fields(_).fieldId),
        plain(readSchema, data),
        plain(readSchema, constant),
        places,
        fields.indices.map(place))
    }
  }

  /** Without what Iceberg and Spark note down of columns, such as their defaults. */
  private def plain(schema: StructType, columns: Seq[Int]): StructType =
    StructType(columns.map(i =>
      StructField(schema(i).name, schema(i).dataType, schema(i).nullable)))

  /** A value of a manifest as Spark has it. */
  private def value(ofIceberg: Object, dataType: DataType): Option[Any] =
    (ofIceberg, dataType) match {
      case (null, _) => Some(null)
      case (boolean: java.lang.Boolean, BooleanType) => Some(boolean)
      case (int: Integer, IntegerType | DateType) => Some(int)
      case (long: java.lang.Long, LongType | TimestampType | TimestampNTZType) => Some(long)
      case (float: java.lang.Float, FloatType) => Some(float)
      case (double: java.lang.Double, DoubleType) => Some(double)
      case (decimal: java.math.BigDecimal, exact: DecimalType) =>
        Some(Decimal(decimal, exact.precision, exact.scale))
      case (text: CharSequence, _: StringType) => Some(UTF8String.fromString(text.toString))
      case _ => None
    }
}
