package io.oap.spark

import java.io.IOException
import java.time.ZoneId

import org.apache.hadoop.mapred.FileSplit
import org.apache.hadoop.mapreduce.{JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.parquet.hadoop.metadata.{FileMetaData, ParquetMetadata}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{CacheCounters, ColumnCache}
import io.oap.cache.parquet.CachedParquetFile

/** A file that only Spark's own reader may read. */
private final class EncryptedFileException(file: PartitionedFile)
    extends IOException(s"Encrypted files are not cached: ${file.filePath}")

/**
 * Opens the splits of one task with Spark's vectorized reader over cached files.
 *
 * Closing a reader ends its pins. Spark does that when the split or the task ends, however the
 * task ends. No listener of ours does it: it would run before those of the operators above, which
 * may still look at the last batch (SPARK-37089).
 */
private final class SplitReaders(
    parquet: ParquetPartitionReaderFactory,
    settings: ReadSettings,
    runtimeFilters: Array[Filter],
    cache: ColumnCache,
    counters: CacheCounters) {

  private val hadoopConf = parquet.broadcastedConf.value.value

  def openBatches(file: PartitionedFile): PartitionReader[ColumnarBatch] = {
    val reader = open(file)
    reader.enableReturningBatches()
    new SplitReader(reader, _.asInstanceOf[ColumnarBatch])
  }

  def openRows(file: PartitionedFile): PartitionReader[InternalRow] =
    new SplitReader(open(file), _.asInstanceOf[InternalRow])

  private def open(file: PartitionedFile): VectorizedParquetRecordReader = {
    val cached = new CachedParquetFile(file.toPath, hadoopConf, cache, counters)
    if (cached.isEncrypted) {
      throw new EncryptedFileException(file)
    }
    val split = cached.footerOfSplit(file.start, file.length)
    val reader = newReader(split.getFileMetaData)
    val dates = datetimeRebase(split.getFileMetaData)
    val footer = prune(split, dates)
    val task = new TaskAttemptContextImpl(
      hadoopConf,
      new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0))
    settings
      .pushed(parquet.filters, split.getFileMetaData.getSchema, dates)
      .foreach(ParquetInputFormat.setFilterPredicate(task.getConfiguration, _))
    // Our stream hands out whole chunks through this call, without a copy.
    task.getConfiguration.setBoolean(ParquetInputFormat.HADOOP_VECTORED_IO_ENABLED, true)
    val stream = cached.newStream()
    var isOpen = false
    try {
      reader.initialize(
        new FileSplit(file.toPath, file.start, file.length, Array.empty[String]),
        task,
        Some(cached.inputFile),
        Some(stream),
        Some(footer))
      reader.initBatch(parquet.partitionSchema, file.partitionValues)
      isOpen = true
    } finally {
      // Closing twice does no harm: initialize may have failed before or after it took the stream.
      if (!isOpen) {
        reader.close()
        stream.close()
      }
    }
    reader
  }

  private def newReader(file: FileMetaData): VectorizedParquetRecordReader = {
    val dates = datetimeRebase(file)
    val int96 = DataSourceUtils.int96RebaseSpec(
      file.getKeyValueMetaData.get,
      settings.int96RebaseMode)
    new VectorizedParquetRecordReader(
      int96Zone(file).orNull,
      dates.mode.toString,
      dates.timeZone,
      int96.mode.toString,
      int96.timeZone,
      settings.usesOffHeapVectors && TaskContext.get() != null,
      settings.batchSize
    )
  }

  private def datetimeRebase(file: FileMetaData): RebaseSpec =
    DataSourceUtils.datetimeRebaseSpec(
      file.getKeyValueMetaData.get,
      settings.datetimeRebaseMode)

  /** INT96 timestamps of writers other than parquet-mr are shifted where the session says so. */
  private def int96Zone(file: FileMetaData): Option[ZoneId] =
    if (settings.shiftsForeignInt96 && !file.getCreatedBy.startsWith("parquet-mr")) {
      Some(DateTimeUtils.getZoneId(hadoopConf.get(SQLConf.SESSION_LOCAL_TIMEZONE.key)))
    } else {
      None
    }

  /** Leaves out row groups in which no row has a join key that Spark has sent. */
  private def prune(split: ParquetMetadata, dates: RebaseSpec): ParquetMetadata = {
    val schema = split.getFileMetaData.getSchema
    settings.pushed(runtimeFilters, schema, dates).fold(split) { predicate =>
      val kept = new java.util.ArrayList(split.getBlocks)
      kept.removeIf(rowGroup => StatisticsFilter.canDrop(predicate, rowGroup.getColumns))
      counters.pruneRowGroups(split.getBlocks.size - kept.size)
      new ParquetMetadata(split.getFileMetaData, kept)
    }
  }
}

/** One open split, as rows or as batches. */
private final class SplitReader[T](reader: VectorizedParquetRecordReader, cast: Any => T)
    extends PartitionReader[T] {
  override def next(): Boolean = reader.nextKeyValue()

  override def get(): T = cast(reader.getCurrentValue)

  override def close(): Unit = reader.close()
}
