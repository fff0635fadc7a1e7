package io.oap.spark.read

import java.io.FileNotFoundException

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkEnv, SparkException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.{
  FileDataSourceV2,
  FilePartitionReader,
  PartitionReaderWithPartitionValues
}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.cache.pool.Admission
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.table.ScanCachePolicy

/**
 * Makes the readers of a cached scan, on executors.
 *
 * @param parquet Spark's own factory for the same scan: it holds the settings, and reads what the
 *     cache does not serve (rows without the vectorized reader, encrypted files, a process whose
 *     cache could not be opened)
 * @param conditions what the query says about single rows and row groups
 * @param isV1 whether the scan stands for one of a V1 relation. That one fails on a missing file
 *     although corrupt files are to be ignored, where a V2 scan goes on
 * @param tableRules what users want of the table's chunks in the pools
 */
final class CachedParquetReaderFactory(
    parquet: ParquetPartitionReaderFactory,
    conditions: PlannedConditions,
    isV1: Boolean,
    tableRules: ScanCachePolicy)
    extends PartitionReaderFactory {

  private val isVectorized = ParquetUtils.isBatchReadSupportedForSchema(
    parquet.sqlConf,
    StructType(parquet.partitionSchema.fields ++ parquet.readDataSchema.fields))

  private val settings = ReadSettings.of(parquet.sqlConf, parquet.options)

  /**
   * Makes readers that load the scan's chunks and nothing else, as [[WarmTasks]] says; nothing
   * where the scan does not read through the cache.
   */
  private[spark] def warming: Option[Boolean => WarmReaderFactory] =
    if (isVectorized)
      Some(new WarmParquetReaders(parquet, conditions.own, settings, tableRules, _))
    else None

  override def supportColumnarReads(partition: InputPartition): Boolean =
    parquet.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    reader(partition, parquet.buildReader)((batches, file) =>
      new PartitionReaderWithPartitionValues(
        new RowsOfBatches(batches),
        parquet.readDataSchema,
        parquet.partitionSchema,
        file.partitionValues))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    reader(partition, parquet.buildColumnarReader)((batches, _) => batches)

  private def reader[T](partition: InputPartition, uncached: PartitionedFile => PartitionReader[T])(
      open: (PartitionReader[ColumnarBatch], PartitionedFile) => PartitionReader[T])
      : PartitionReader[T] = {
    val files = JoinedPartition.filesOf(partition)
    val counters = new CacheCounters
    val cache: Option[ColumnCache] = if (isVectorized) ExecutorCache.get() else None
    cache.foreach(_.limit(tableRules.limits.asJava))
    if (CachedParquetReaderFactory.isAstray(files)) counters.add(Figure.TASKS_ELSEWHERE, 1)
    val content = SplitContent.of(parquet)
    val splits = cache.map { cache =>
      val context = CachedParquetReaderFactory.context(cache, files, tableRules, counters)
      new SplitReaders(content, settings, conditions.of(partition), cache, context)
    }
    val ahead = new FilesAhead(files.files, content.hadoopConf)
    def fileOf(file: PartitionedFile) =
      new HadoopSplitFile(ahead.source(file), content.hadoopConf, settings)
    val buildReader: PartitionedFile => PartitionReader[T] = splits match {
      case Some(readers) =>
        file =>
          try open(readers.openBatches(file, fileOf(file)), file)
          catch { case _: UnservedFileException => uncached(file) }
      case None => uncached
    }
    val reader = new FilePartitionReader[T](
      files.files.iterator,
      failingOnMissing(buildReader),
      parquet.options)
    new MeteredReader(reader, splits, counters)
  }

  /** Treats a missing file as a V1 scan does, which does not take it for a corrupt one. */
  private def failingOnMissing[T](
      buildReader: PartitionedFile => PartitionReader[T]): PartitionedFile => PartitionReader[T] =
    if (!isV1) buildReader
    else { file =>
      try new V1Reader(buildReader(file), file, parquet.options.ignoreMissingFiles)
      catch {
        case e: FileNotFoundException if !parquet.options.ignoreMissingFiles =>
          throw FileDataSourceV2.attachFilePath(file.urlEncodedPath, e)
      }
    }
}

/** Reads a file that may go away meanwhile; Spark's V2 readers look for that at the opening only. */
private final class V1Reader[T](
    reader: PartitionReader[T],
    file: PartitionedFile,
    ignoresMissing: Boolean)
    extends PartitionReader[T] {
  private var isGone = false

  override def next(): Boolean =
    try !isGone && reader.next()
    catch {
      case e: FileNotFoundException =>
        if (!ignoresMissing) throw FileDataSourceV2.attachFilePath(file.urlEncodedPath, e)
        isGone = true
        false
    }

  override def get(): T = reader.get()

  override def close(): Unit = reader.close()
}

object CachedParquetReaderFactory {

  /** Says how a task reads. One that runs where its chunks do not belong evicts nothing there. */
  private[spark] def context(
      cache: ColumnCache,
      partition: InputPartition,
      tableRules: ScanCachePolicy,
      counters: CacheCounters): ReadContext =
    partition match {
      case placed: PlacedPartition if placed.isGuest || isElsewhere(partition) =>
        new ReadContext(counters, Admission.IF_FREE, _ => false)
      case _ => contextAtHome(cache, tableRules, counters)
    }

  /** Says how a task reads whose chunks belong where it runs. */
  private[spark] def contextAtHome(
      cache: ColumnCache,
      tableRules: ScanCachePolicy,
      counters: CacheCounters): ReadContext =
    tableRules.pinned.fold(new ReadContext(counters)) { columns =>
      val keeps = cache.files.inColumns(columns.contains(_))
      new ReadContext(counters, Admission.EVICTING, keeps)
    }

  private[spark] def isElsewhere(partition: InputPartition): Boolean =
    partition match {
      case placed: PlacedPartition => placed.belongsElsewhere(SparkEnv.get.executorId)
      case _ => false
    }

  /** Whether a task runs where the plan did not see it at all. */
  private def isAstray(partition: InputPartition): Boolean = partition match {
    case placed: PlacedPartition =>
      isElsewhere(placed) && !placed.alternatives.contains(SparkEnv.get.executorId)
    case _ => false
  }

  /** Whether scans of this schema hand over batches rather than rows. */
  def readsColumnar(conf: SQLConf, schema: StructType): Boolean =
    ParquetUtils.isBatchReadSupportedForSchema(conf, schema) && conf.wholeStageEnabled &&
      !WholeStageCodegenExec.isTooManyFields(conf, schema)
}

/**
 * Reports a task's counters while it reads, and adds them to the process's totals at the end.
 *
 * @param splits what the reader reads with, to be closed before it, so that it opens no more
 */
private[spark] final class MeteredReader[T](
    reader: PartitionReader[T],
    splits: Option[SplitReaders],
    counters: CacheCounters)
    extends PartitionReader[T] {
  private var isClosed = false

  override def next(): Boolean =
    try {
      val hasNext = reader.next()
      // Spark closes readers when the task ends, and a task of coalesce has one of each partition.
      if (!hasNext) splits.foreach(_.close())
      hasNext
    } catch {
      // Spark's reader has put the error of a missing file, which names the file, into another one.
      case e: SparkException if MeteredReader.isOfMissingFile(e.getCause) => throw e.getCause
    }

  override def get(): T = reader.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] = ScanMetrics.of(counters)

  override def close(): Unit = {
    if (!isClosed) {
      isClosed = true
      ExecutorCache.addTotals(counters)
    }
    try splits.foreach(_.close())
    finally reader.close()
  }
}

private object MeteredReader {
  def isOfMissingFile(error: Throwable): Boolean = error match {
    case e: SparkException => e.getCondition == "FAILED_READ_FILE.FILE_NOT_EXIST"
    case _ => false
  }
}
