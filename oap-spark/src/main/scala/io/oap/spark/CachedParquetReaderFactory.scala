package io.oap.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.{
  FilePartitionReader,
  PartitionReaderWithPartitionValues
}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{CacheCounters, ColumnCache}

/**
 * Makes the readers of a cached scan, on executors.
 *
 * @param parquet Spark's own factory for the same scan: it holds the settings, and reads what the
 *     cache does not serve (rows without the vectorized reader, encrypted files, a process whose
 *     cache could not be opened)
 * @param runtimeFilters join keys that came with the query, as filters on data columns
 */
final class CachedParquetReaderFactory(
    parquet: ParquetPartitionReaderFactory,
    runtimeFilters: Array[Filter])
    extends PartitionReaderFactory {

  private val isVectorized = ParquetUtils.isBatchReadSupportedForSchema(
    parquet.sqlConf,
    StructType(parquet.partitionSchema.fields ++ parquet.readDataSchema.fields))

  private val settings = ReadSettings.of(parquet.sqlConf, parquet.options)

  override def supportColumnarReads(partition: InputPartition): Boolean =
    parquet.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    reader(partition, parquet.buildReader)((splits, file) =>
      new PartitionReaderWithPartitionValues(
        splits.openRows(file),
        parquet.readDataSchema,
        parquet.partitionSchema,
        file.partitionValues))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    reader(partition, parquet.buildColumnarReader)((splits, file) => splits.openBatches(file))

  private def reader[T](partition: InputPartition, uncached: PartitionedFile => PartitionReader[T])(
      open: (SplitReaders, PartitionedFile) => PartitionReader[T]): PartitionReader[T] = {
    val files = partition.asInstanceOf[FilePartition].files.iterator
    val counters = new CacheCounters
    val cache: Option[ColumnCache] = if (isVectorized) ExecutorCache.get() else None
    val buildReader: PartitionedFile => PartitionReader[T] = cache match {
      case Some(columns) =>
        val splits = new SplitReaders(parquet, settings, runtimeFilters, columns, counters)
        file =>
          try open(splits, file)
          catch { case _: EncryptedFileException => uncached(file) }
      case None => uncached
    }
    new MeteredReader(new FilePartitionReader[T](files, buildReader, parquet.options), counters)
  }
}

object CachedParquetReaderFactory {

  /** Whether scans of this schema hand over batches rather than rows. */
  def readsColumnar(conf: SQLConf, schema: StructType): Boolean =
    ParquetUtils.isBatchReadSupportedForSchema(conf, schema) && conf.wholeStageEnabled &&
      !WholeStageCodegenExec.isTooManyFields(conf, schema)
}

/** Reports a task's counters while it reads, and adds them to the process's totals at the end. */
private final class MeteredReader[T](reader: PartitionReader[T], counters: CacheCounters)
    extends PartitionReader[T] {
  private var isClosed = false

  override def next(): Boolean = reader.next()

  override def get(): T = reader.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] = ScanMetrics.of(counters)

  override def close(): Unit = {
    if (!isClosed) {
      isClosed = true
      ExecutorCache.addTotals(counters)
    }
    reader.close()
  }
}
