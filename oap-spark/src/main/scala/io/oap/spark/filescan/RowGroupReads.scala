package io.oap.spark.filescan

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFileFormat,
  ParquetOptions,
  ParquetReadSupport,
  ParquetUtils,
  ParquetWriteSupport
}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{ByteType, DataType, LongType, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.spark.delta.DeletedRows
import io.oap.spark.filter.{RowFilter, SentFilters}
import io.oap.spark.optimizer.UseColumnCache
import io.oap.spark.read.{
  ChunkWarming,
  HadoopSplitFile,
  ReadSettings,
  ScanConditions,
  SplitContent,
  SplitReaders
}
import io.oap.spark.scan.FiltersAbove
import io.oap.spark.vector.DeletedPositions

/**
 * How the tasks of a V1 scan read Parquet files.
 *
 * @param parquet the settings of the scan, as the readers take them
 * @param zeros columns that are not read
 * @param deleted tells deleted rows, where the scan marks them
 */
private[filescan] final case class RowGroupReads(
    parquet: ParquetPartitionReaderFactory,
    settings: ReadSettings,
    conditions: ScanConditions,
    zeros: ZeroColumns,
    deleted: Option[DeletedRows],
    returnsBatches: Boolean)
    extends OwnReads {

  override def splits(cache: ColumnCache, context: ReadContext): SplitReaders =
    new SplitReaders(SplitContent.of(parquet), settings, conditions, cache, context)

  override def batches(
      splits: SplitReaders,
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): PartitionReader[ColumnarBatch] =
    zeros.among(splits.openBatches(file, fileOf(file, read)))

  override def warm(
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): Unit =
    new ChunkWarming(SplitContent.of(parquet), settings, conditions.runtime, cache, context)
      .warm(file, fileOf(file, read))

  private def fileOf(file: PartitionedFile, read: FileRead) = {
    val conf = parquet.broadcastedConf.value
    new HadoopSplitFile(
      read.source(file.toPath.getFileSystem(conf.value)),
      conf.value,
      settings,
      rows => deleted.fold(DeletedPositions.None)(_.of(file, rows, conf)))
  }
}

private[filescan] object RowGroupReads {

  /** Where Spark's format says what is wanted of a file. */
  private val Requested = ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA

  /** What differs from scan to scan: our readers note down columns themselves. */
  private val Columns = Set(Requested, ParquetWriteSupport.SPARK_ROW_SCHEMA)

  /**
   * How a scan is read, where our readers give exactly what the format that is meant gives. Its
   * function must be that of Spark's own format: one that adds to what Spark's reader gives is another
   * one. Of these we know what Delta's does for deletion vectors. Where rows are counted, only Spark's
   * own reader gives them: ours pass over pages by filters only where the pool has not the whole.
   *
   * @param read the function that the format has made for the scan
   * @param asked the configuration that it was made with, in which Spark's format has noted down which
   *     columns of the files to read. A format such as Delta's calls them otherwise than the scan
   */
  def of(
      scan: ScanRequest,
      meant: FileFormat,
      above: AskedAbove,
      read: PartitionedFile => Iterator[InternalRow],
      asked: Configuration): Option[RowGroupReads] = {
    val deleted = if (isOfSpark(read)) None else deletedRows(scan, meant, above)
    val isServed = !(above.countsRows && scan.filters.nonEmpty) &&
      (isOfSpark(read) || deleted.isDefined) &&
      UseColumnCache.areServed(scan.session, scan.conf, scan.requiredSchema, scan.options)
    for {
      text <- Option(asked.get(Requested)) if isServed
      inFiles = DataType.fromJson(text).asInstanceOf[StructType]
      if inFiles.length == scan.requiredSchema.length && isVectorized(scan, inFiles)
    } yield {
      val context = scan.session.sparkContext
      val options = new ParquetOptions(scan.options, scan.conf)
      val names = inFiles.fieldNames.toSeq
      val rows = if (scan.conf.parquetFilterPushDown) above.filters.rows(names) else Nil
      val joined = above.keys.filters(inFiles)
      val zeros = if (deleted.isEmpty) ZeroColumns.None else notRead(inFiles, above)
      val read = zeros.without(inFiles)
      RowGroupReads(
        ParquetPartitionReaderFactory(
          scan.conf,
          SentConfigurations.broadcast(asked, Columns, context),
          read,
          read,
          scan.partitionSchema,
          rowGroupFilters(scan, above.filters, inFiles).toArray,
          None,
          options
        ),
        ReadSettings.of(scan.conf, options),
        ScanConditions(
          joined.rowGroups,
          SentFilters.of(RowFilter.needed(rows ++ joined.rows), context)),
        zeros,
        deleted,
        scan.returnsBatches
      )
    }
  }

  private def isVectorized(scan: ScanRequest, inFiles: StructType): Boolean =
    ParquetUtils.isBatchReadSupportedForSchema(
      scan.conf,
      StructType(scan.partitionSchema.fields ++ inFiles.fields))

  /** Spark's filters know values of subqueries, too, but columns by the names of the scan only. */
  private def rowGroupFilters(
      scan: ScanRequest,
      above: FiltersAbove,
      inFiles: StructType): Seq[Filter] =
    if (inFiles.catalogString == scan.requiredSchema.catalogString) scan.filters
    else above.rowGroups(inFiles.fieldNames.toSeq)

  /** Where the filter above looks at the marks: only then rows may be left out by them. */
  private def deletedRows(
      scan: ScanRequest,
      meant: FileFormat,
      above: AskedAbove): Option[DeletedRows] = {
    val isSplitable = meant.isSplitable(scan.session, scan.options, new Path("file"))
    val areFiltered =
      above.filters.conditions.exists(_.references.exists(_.name == DeletedRows.Marks))
    if (areFiltered) DeletedRows.of(meant, scan.requiredSchema, isSplitable) else None
  }

  /** Of the rows that are left where deleted ones are left out: no mark, and no number that nobody asks for. */
  private def notRead(schema: StructType, above: AskedAbove): ZeroColumns =
    ZeroColumns(schema.fieldNames.zipWithIndex.collect {
      case (DeletedRows.Marks, i) => i -> ByteType
      case (ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME, i) if !above.numbersRows =>
        i -> LongType
    }.toMap)

  /** Whether a function is a lambda in Spark's own format. */
  private def isOfSpark(read: PartitionedFile => Iterator[InternalRow]): Boolean =
    read.getClass.getName.startsWith(s"${classOf[ParquetFileFormat].getName}$$$$Lambda")
}
