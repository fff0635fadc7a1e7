package io.oap.spark.read

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.{HadoopReadOptions, ParquetReadOptions}
import org.apache.parquet.hadoop.metadata.{FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.oap.cache.file.{FileSource, HadoopFileSource}
import io.oap.spark.vector.DeletedPositions

/** A file that only the reader of the table's own library may read. */
private[spark] final class UnservedFileException(path: String, why: String)
    extends IOException(s"$path is not read through the column cache: $why")

/**
 * What is read of each split of a scan.
 *
 * @param data columns of files
 * @param partition columns of which each split has one value
 * @param filters of the query by which row groups are ruled out
 * @param hadoopConf settings of Hadoop and of Parquet for this scan
 */
private[spark] final case class SplitContent(
    data: StructType,
    partition: StructType,
    filters: Array[Filter],
    hadoopConf: Configuration)

private[spark] object SplitContent {
  def of(parquet: ParquetPartitionReaderFactory): SplitContent = SplitContent(
    parquet.readDataSchema,
    parquet.partitionSchema,
    parquet.filters,
    parquet.broadcastedConf.value.value)
}

/** The file of a split: where its bytes are, and what a table's kind says of how it is read. */
private[spark] trait SplitFile {

  /** The version that is read. */
  def source: FileSource

  /** How Parquet reads a footer that is not cached. */
  def footerOptions: ParquetReadOptions

  /** What Spark's reader takes for the file; its bytes come from elsewhere. */
  def inputFile: HadoopInputFile

  /** How dates and timestamps of the file are turned into Spark's. */
  def calendar(file: FileMetaData): DatetimeRebase

  /**
   * What the file calls the columns of the read schema.
   *
   * @throws UnservedFileException where it has other columns than these
   */
  def names(footer: ParquetMetadata): ColumnNames

  /**
   * Rows of the file that the table says are deleted.
   *
   * @param rows how many the file has
   * @throws UnservedFileException where that cannot be told here
   */
  def deleted(rows: Long): DeletedPositions
}

/**
 * The names of columns in one file.
 *
 * @param renamed those that the file calls otherwise than the read schema does
 */
private[spark] final class ColumnNames(renamed: Map[String, String]) {

  /** The columns by the names that the file has for them. */
  def inFile(schema: StructType): StructType =
    if (renamed.isEmpty) schema
    else StructType(schema.map(field =>
      field.copy(name = renamed.getOrElse(field.name, field.name))))

  /** The filters that say of this file what they say of the read schema: they go by names. */
  def inFile(filters: Array[Filter]): Array[Filter] =
    if (renamed.isEmpty) filters else filters.filterNot(_.references.exists(renamed.contains(_)))
}

private[spark] object ColumnNames {
  val AsInTable: ColumnNames = new ColumnNames(Map.empty)
}

/**
 * A file of a Hadoop file system, read as Spark's Parquet tables are.
 *
 * @param deletes tells the deleted rows, of so many
 */
private[spark] final class HadoopSplitFile(
    override val source: HadoopFileSource,
    hadoopConf: Configuration,
    settings: ReadSettings,
    deletes: Long => DeletedPositions = _ => DeletedPositions.None)
    extends SplitFile {

  /** Asks the file system for the file's status. */
  def this(file: PartitionedFile, hadoopConf: Configuration, settings: ReadSettings) =
    this(new HadoopFileSource(file.toPath, hadoopConf), hadoopConf, settings)

  override def footerOptions: ParquetReadOptions =
    HadoopReadOptions.builder(hadoopConf, source.status.getPath).build()

  override def inputFile: HadoopInputFile = HadoopInputFile.fromStatus(source.status, hadoopConf)

  override def calendar(file: FileMetaData): DatetimeRebase =
    DatetimeRebase.of(file, settings, hadoopConf)

  override def names(footer: ParquetMetadata): ColumnNames = ColumnNames.AsInTable

  override def deleted(rows: Long): DeletedPositions = deletes(rows)
}
