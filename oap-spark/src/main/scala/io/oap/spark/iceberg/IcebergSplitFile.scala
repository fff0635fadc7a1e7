package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.iceberg.FileScanTask
import org.apache.iceberg.io.InputFile
import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.column.Encoding
import org.apache.parquet.hadoop.metadata.{FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.internal.LegacyBehaviorPolicy
import org.apache.spark.sql.types._

import io.oap.cache.file.FileSource
import io.oap.cache.parquet.ParquetLayout
import io.oap.spark.read.{ColumnNames, DatetimeRebase, SplitFile, UnservedFileException}
import io.oap.spark.vector.DeletedPositions

/**
 * A data file of Iceberg as our own readers read it. Iceberg finds columns by the ids that files
 * have for them, whatever they are called, and never turns dates from one calendar into another.
 *
 * @param file by which bytes are read, whatever store it is of
 * @param version of the file, as [[FileVersions]] tells it
 * @param load gives the positions of deleted rows, when they are asked for
 */
private[iceberg] final class IcebergSplitFile(
    file: InputFile,
    split: FileScanTask,
    version: String,
    columns: SplitColumns,
    load: => DeletedPositions,
    hadoopConf: Configuration)
    extends SplitFile {

  private def length = split.file.fileSizeInBytes

  override val source: FileSource = new IcebergFileSource(file, length, version)

  override def footerOptions: ParquetReadOptions = ParquetLayout.DEFAULTS

  /**
   * A path that errors show. It is of the local file system, so that no other one is made or asked
   * for it: Hadoop may know none for the store.
   */
  override def inputFile: HadoopInputFile =
    HadoopInputFile.fromStatus(
      new FileStatus(length, false, 0, 0, 0, IcebergSplitFile.shownPath(split)),
      hadoopConf)

  override def calendar(file: FileMetaData): DatetimeRebase = IcebergSplitFile.Proleptic

  override def names(footer: ParquetMetadata): ColumnNames = {
    val byId = footer.getFileMetaData.getSchema.getFields.asScala
      .filter(_.getId != null).groupBy(_.getId.intValue)
    val inFile = columns.data.zip(columns.ids).map { case (field, id) =>
      byId.get(id).map(_.toSeq) match {
        case Some(Seq(column)) if IcebergSplitFile.isOfType(column, field.dataType) =>
          field.name -> column.getName
        case found => throw unserved(s"column ${field.name} is $found there")
      }
    }
    requireServedEncodings(footer, inFile.map(_._2).toSet)
    new ColumnNames(inFile.filter { case (here, there) => here != there }.toMap)
  }

  /** Loaded once. */
  lazy val positions: DeletedPositions = load

  override def deleted(rows: Long): DeletedPositions = positions

  private def requireServedEncodings(footer: ParquetMetadata, names: Set[String]): Unit =
    for {
      group <- footer.getBlocks.asScala
      chunk <- group.getColumns.asScala
      if chunk.getEncodings.asScala.exists(IcebergSplitFile.UnservedEncodings.contains(_)) &&
        names.contains(chunk.getPath.toArray.head)
    } throw unserved(s"${chunk.getPath} is encoded as ${chunk.getEncodings}")

  private def unserved(why: String) = new UnservedFileException(split.file.location, why)
}

private[iceberg] object IcebergSplitFile {

  private val Proleptic = {
    val asWritten = RebaseSpec(LegacyBehaviorPolicy.CORRECTED)
    DatetimeRebase(asWritten, asWritten, None)
  }

  /** Spark 4.1's vectorized reader reads some pages of these wrong, or not at all. */
  private val UnservedEncodings = java.util.EnumSet.of(
    Encoding.DELTA_BYTE_ARRAY,
    Encoding.DELTA_LENGTH_BYTE_ARRAY,
    Encoding.DELTA_BINARY_PACKED,
    Encoding.BYTE_STREAM_SPLIT)

  /** A file's location within a path of the local file system. */
  def shownPath(split: FileScanTask): Path = new Path("file", null, "/" + split.file.location)

  /**
   * Whether a column of a file is what Iceberg writes for a Spark type. Other columns may be read as
   * that type, too, such as those that were narrower once: Iceberg does it in its own way.
   */
  private def isOfType(column: Type, dataType: DataType): Boolean =
    column.isPrimitive && !column.isRepetition(Type.Repetition.REPEATED) && {
      val primitive = column.asPrimitiveType
      isOfType(primitive, Option(primitive.getLogicalTypeAnnotation), dataType)
    }

  private def isOfType(
      column: PrimitiveType,
      annotation: Option[LogicalTypeAnnotation],
      dataType: DataType): Boolean = (dataType, column.getPrimitiveTypeName, annotation) match {
    case (BooleanType, BOOLEAN, None) => true
    case (IntegerType, INT32, None) => true
    case (IntegerType, INT32, Some(int: IntLogicalTypeAnnotation)) => int.isSigned
    case (LongType, INT64, None) => true
    case (LongType, INT64, Some(int: IntLogicalTypeAnnotation)) => int.isSigned
    case (FloatType, FLOAT, None) => true
    case (DoubleType, DOUBLE, None) => true
    case (DateType, INT32, Some(_: DateLogicalTypeAnnotation)) => true
    case (TimestampType, INT64, Some(time: TimestampLogicalTypeAnnotation)) =>
      time.getUnit == TimeUnit.MICROS && time.isAdjustedToUTC
    case (TimestampNTZType, INT64, Some(time: TimestampLogicalTypeAnnotation)) =>
      time.getUnit == TimeUnit.MICROS && !time.isAdjustedToUTC
    case (_: StringType, BINARY, Some(_: StringLogicalTypeAnnotation)) => true
    case (BinaryType, BINARY, None) => true
    case (
          wanted: DecimalType,
          INT32 | INT64 | FIXED_LEN_BYTE_ARRAY,
          Some(decimal: DecimalLogicalTypeAnnotation)) =>
      decimal.getPrecision == wanted.precision && decimal.getScale == wanted.scale
    case _ => false
  }
}
