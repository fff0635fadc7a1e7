package io.oap.spark.iceberg

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{CachedFileStream, ColumnCache, ReadContext, WarmedChunks}
import io.oap.cache.parquet.ParquetLayout
import io.oap.cache.pool.Admission
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.read.{
  CachedParquetReaderFactory,
  OneRow,
  ScanMetrics,
  Warmed,
  WarmReaderFactory
}
import io.oap.spark.table.ScanCachePolicy

/**
 * Makes Iceberg's own readers, on executors, and has them read files through the cache.
 *
 * @param iceberg makes them; it reads by itself where this process has no cache
 * @param keepsLoaded whether chunks that are not held may enter the pool
 */
private[iceberg] final class CachedIcebergReaderFactory(
    iceberg: PartitionReaderFactory,
    tableRules: ScanCachePolicy,
    keepsLoaded: Boolean)
    extends PartitionReaderFactory
    with Logging {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    iceberg.supportColumnarReads(CachedIcebergPartition.original(partition))

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    reader(partition)(iceberg.createReader(_))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    reader(partition)(iceberg.createColumnarReader(_))

  private def reader[T](partition: InputPartition)(
      open: InputPartition => PartitionReader[T]): PartitionReader[T] = partition match {
    case cached: CachedIcebergPartition =>
      val counters = new TaskCounters
      val here = ExecutorCache.get().flatMap(throughCache(cached, _, counters, None))
      here.fold(open(cached.iceberg))(own => new CountingReader(open(own), counters))
    case other => open(other)
  }

  /** Reads a partition to the end for nobody, so that its chunks are held here. */
  private[iceberg] def warm(partition: CachedIcebergPartition, cache: ColumnCache): Warmed = {
    val counters = new TaskCounters
    val warmed = new WarmedChunks
    throughCache(partition, cache, counters, Some(warmed)).foreach { own =>
      Using.resource(
        if (iceberg.supportColumnarReads(own)) iceberg.createColumnarReader(own)
        else iceberg.createReader(own)) { reader =>
        while (reader.next()) WarmReaderFactory.throwIfCancelled()
      }
    }
    Warmed.here(warmed, counters.sum)
  }

  private def throughCache(
      partition: CachedIcebergPartition,
      cache: ColumnCache,
      counters: TaskCounters,
      warmed: Option[WarmedChunks]): Option[InputPartition] =
    try {
      val shape = PartitionShape.of(partition.iceberg.getClass.getClassLoader)
      cache.limit(tableRules.limits.asJava)
      val served = ServedFiles.locations(shape.taskGroup(partition.iceberg))
      val real = shape.fileIo(partition.iceberg)
      if (partition.isAstray(SparkEnv.get.executorId)) counters.taskElsewhere()
      def one = {
        val ofQuery = context(partition, cache, counters.next())
        warmed.fold(ofQuery)(ofQuery.warming)
      }
      val io =
        new CachedFileIO(real, served, new CachedFileStream(_, ParquetLayout.READER, cache, one))
      Some(shape.withFileIo(partition.iceberg, io))
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        if (CachedIcebergReaderFactory.hasWarned.compareAndSet(false, true))
          logWarning(s"Iceberg tables are read around the column cache in this process: $e")
        logDebug("Why a partition of an Iceberg table is read around the cache", e)
        None
    }

  private def context(
      partition: CachedIcebergPartition,
      cache: ColumnCache,
      counters: CacheCounters): ReadContext = {
    def none(admission: Admission) = new ReadContext(counters, admission, _ => false)
    if (!keepsLoaded) none(Admission.NEVER)
    else if (partition.isGuest(SparkEnv.get.executorId)) none(Admission.IF_FREE)
    else CachedParquetReaderFactory.contextAtHome(cache, tableRules, counters)
  }
}

/** Makes readers that load what others give rows of. */
private[iceberg] final class WarmIcebergReaders(
    readers: CachedIcebergReaderFactory,
    isPatient: Boolean)
    extends WarmReaderFactory(isPatient) {

  override protected def isElsewhere(partition: InputPartition): Boolean =
    cached(partition).belongsElsewhere(SparkEnv.get.executorId)

  override protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow] =
    new OneRow(() => readers.warm(cached(partition), cache).toRow)

  private def cached(partition: InputPartition): CachedIcebergPartition =
    partition.asInstanceOf[CachedIcebergPartition]
}

private object CachedIcebergReaderFactory {
  private val hasWarned = new AtomicBoolean
}

/** What the streams of one task have counted, each by itself: they belong to several threads. */
private[iceberg] final class TaskCounters {
  private val all = new ConcurrentLinkedQueue[CacheCounters]

  /** Counters for another stream. */
  def next(): CacheCounters = {
    val counters = new CacheCounters
    all.add(counters)
    counters
  }

  def taskElsewhere(): Unit = next().add(Figure.TASKS_ELSEWHERE, 1)

  /** All of them; what other threads count at this moment may be missing. */
  def sum: CacheCounters = {
    val sum = new CacheCounters
    all.forEach(sum.add(_))
    sum
  }
}

/** Tells what a task has counted beside what Iceberg tells. */
private final class CountingReader[T](reader: PartitionReader[T], counters: TaskCounters)
    extends PartitionReader[T] {
  private var isClosed = false

  override def next(): Boolean = reader.next()

  override def get(): T = reader.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    reader.currentMetricsValues() ++ ScanMetrics.of(counters.sum)

  override def close(): Unit =
    try reader.close()
    finally if (!isClosed) {
        isClosed = true
        ExecutorCache.addTotals(counters.sum)
      }
}
