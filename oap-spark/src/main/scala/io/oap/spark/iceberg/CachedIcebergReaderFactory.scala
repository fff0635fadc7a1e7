package io.oap.spark.iceberg

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.iceberg.FileScanTask
import org.apache.iceberg.io.FileIO
import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext, WarmedChunks}
import io.oap.cache.parquet.ParquetLayout
import io.oap.cache.pool.Admission
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.stream.CachedFileStream
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
 * Makes the readers of a scan on executors: our own for splits that they read as Iceberg would, and
 * for others Iceberg's, which read files through the cache.
 *
 * @param iceberg makes Iceberg's; it reads by itself where this process has no cache
 * @param flat what our own readers need; nothing where they can read no split
 * @param versions of the table's files
 * @param keepsLoaded whether chunks that are not held may enter the pool
 */
private[iceberg] final class CachedIcebergReaderFactory(
    iceberg: PartitionReaderFactory,
    flat: Option[FlatReads],
    versions: FileVersions,
    tableRules: ScanCachePolicy,
    keepsLoaded: Boolean)
    extends PartitionReaderFactory
    with Logging {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    iceberg.supportColumnarReads(CachedIcebergPartition.original(partition))

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    reader(partition)(iceberg.createReader(_))((task, _) => iceberg.createReader(task.partition))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    reader(partition)(iceberg.createColumnarReader(_))(columnar(_, _))

  private def reader[T](partition: InputPartition)(alone: InputPartition => PartitionReader[T])(
      open: (CachedTask, CachedIcebergPartition) => PartitionReader[T]): PartitionReader[T] =
    partition match {
      case cached: CachedIcebergPartition =>
        ExecutorCache.get().flatMap(throughCache(cached, _, new TaskCounters))
          .fold(alone(cached.iceberg)) { task =>
            new CountingReader(open(task, cached), task.counters)
          }
      case other => alone(other)
    }

  /** Reads split by split where our own readers may read some, else as Iceberg alone does. */
  private def columnar(
      task: CachedTask,
      partition: CachedIcebergPartition): PartitionReader[ColumnarBatch] = {
    val splits = splitsOf(task)
    ownOf(task, partition, context(partition, task.cache, task.counters.next())) match {
      case Some(own) if splits.exists(own.mayRead) =>
        new SplitBySplitReader(
          splits,
          own,
          some => iceberg.createColumnarReader(task.shape.withTasks(task.partition, some)))
      case _ => iceberg.createColumnarReader(task.partition)
    }
  }

  private def splitsOf(task: CachedTask): Seq[FileScanTask] =
    task.shape.taskGroup(task.partition).tasks.asScala.toSeq.collect {
      case split: FileScanTask => split
    }

  /** What reads splits by our own readers, if any may be. */
  private def ownOf(
      task: CachedTask,
      partition: CachedIcebergPartition,
      context: ReadContext): Option[FlatSplits] = flat.map(reads =>
    new FlatSplits(
      reads,
      task.shape.projection(task.partition),
      versions,
      task.real,
      task.shape.positionDeletes(task.partition),
      reads.conditions.of(partition),
      task.cache,
      context
    ))

  /**
   * Has this process hold the chunks of a partition: loads what our own readers would read, and
   * reads the rest to the end for nobody, as Iceberg does.
   */
  private[iceberg] def warm(partition: CachedIcebergPartition, cache: ColumnCache): Warmed = {
    val counters = new TaskCounters
    val warmed = new WarmedChunks
    throughCache(partition, cache, counters, Some(warmed)).foreach { task =>
      if (!iceberg.supportColumnarReads(task.partition))
        readAll(iceberg.createReader(task.partition))
      else {
        val own = ownOf(
          task,
          partition,
          context(partition, cache, counters.next()).warming(warmed))
        val splits = splitsOf(task)
        val rest = own.fold(splits)(one => splits.filterNot(one.warm))
        if (rest.nonEmpty)
          readAll(iceberg.createColumnarReader(task.shape.withTasks(task.partition, rest)))
      }
    }
    Warmed.here(warmed, counters.sum)
  }

  private def readAll(reader: PartitionReader[_]): Unit = Using.resource(reader) { rows =>
    while (rows.next()) WarmReaderFactory.throwIfCancelled()
  }

  private def throughCache(
      partition: CachedIcebergPartition,
      cache: ColumnCache,
      counters: TaskCounters,
      warmed: Option[WarmedChunks] = None): Option[CachedTask] =
    try {
      val shape = PartitionShape.of(partition.iceberg.getClass.getClassLoader)
      cache.limit(tableRules.limits.asJava)
      val served = ServedFiles.byLocation(shape.taskGroup(partition.iceberg), versions)
      val real = shape.fileIo(partition.iceberg)
      if (partition.isAstray(SparkEnv.get.executorId)) counters.taskElsewhere()
      def one = {
        val ofQuery = context(partition, cache, counters.next())
        warmed.fold(ofQuery)(ofQuery.warming)
      }
      val io =
        new CachedFileIO(real, served, new CachedFileStream(_, ParquetLayout.READER, cache, one))
      Some(CachedTask(shape, shape.withFileIo(partition.iceberg, io), real, cache, counters))
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

/**
 * A task that reads through the cache.
 *
 * @param partition what it reads, by a way to files that goes through the cache
 * @param real Iceberg's own way to files
 */
private final case class CachedTask(
    shape: PartitionShape,
    partition: InputPartition,
    real: FileIO,
    cache: ColumnCache,
    counters: TaskCounters)

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
