package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory

import io.oap.cache.{ColumnCache, WarmedChunks}
import io.oap.cache.stats.CacheCounters
import io.oap.spark.table.ScanCachePolicy

/** Makes readers that load what a scan of Parquet files would read. */
private[spark] final class WarmParquetReaders(
    parquet: ParquetPartitionReaderFactory,
    conditions: ScanConditions,
    settings: ReadSettings,
    tableRules: ScanCachePolicy,
    isPatient: Boolean)
    extends WarmReaderFactory(isPatient) {

  override protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow] = {
    cache.limit(tableRules.limits.asJava)
    new FilePartitionReader[InternalRow](
      partition.asInstanceOf[FilePartition].files.iterator,
      file => new OneRow(() => warmed(file, partition, cache).toRow),
      parquet.options)
  }

  private def warmed(
      file: PartitionedFile,
      partition: InputPartition,
      cache: ColumnCache): Warmed = {
    val counters = new CacheCounters
    val chunks = new WarmedChunks
    val context = CachedParquetReaderFactory.context(cache, partition, tableRules, counters)
      .warming(chunks)
    val content = SplitContent.of(parquet)
    try
      new ChunkWarming(content, settings, conditions.runtime, cache, context)
        .warm(file, new HadoopSplitFile(file, content.hadoopConf, settings))
    catch {
      case _: UnservedFileException => // Spark reads it alone.
    }
    Warmed.here(chunks, counters)
  }
}
