package io.oap.spark.filescan

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile

import io.oap.cache.{ColumnCache, LayoutReader, ReadContext}
import io.oap.cache.orc.OrcLayout
import io.oap.cache.parquet.ParquetLayout
import io.oap.cache.stats.CacheCounters
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.read.CachedParquetReaderFactory
import io.oap.spark.status.Figures
import io.oap.spark.table.ScanCachePolicy

/** What files are, for the cache. */
private[filescan] sealed trait FileKind extends Serializable {
  def layouts: LayoutReader
}

private[filescan] object FileKind {
  case object Parquet extends FileKind {
    override def layouts: LayoutReader = ParquetLayout.READER
  }

  case object Orc extends FileKind {
    override def layouts: LayoutReader = OrcLayout.READER
  }
}

/**
 * What a scan asks of its tasks besides reading files.
 *
 * @param figures get what the tasks count
 */
private[filescan] final case class ReadOrders(
    kind: FileKind,
    policy: ScanCachePolicy,
    figures: ReaderFigures) {

  /** Has files read through the cache that a reader made with such a configuration opens. */
  def reading(read: PartitionedFile => Iterator[InternalRow])
      : PartitionedFile => Iterator[InternalRow] = new CachedReads(read, this)
}

/**
 * Reads the files of a task. Each task has a copy of its own, made where it runs. Without a cache,
 * and outside of tasks, it reads as Spark alone does.
 */
private final class CachedReads(read: PartitionedFile => Iterator[InternalRow], orders: ReadOrders)
    extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  @transient private lazy val task: Option[TaskReads] =
    for (context <- Option(TaskContext.get()); cache <- ExecutorCache.get())
      yield new TaskReads(context, cache, orders)

  override def apply(file: PartitionedFile): Iterator[InternalRow] =
    task.fold(read(file))(_.file(file.toPath).whileOpening(() => read(file)))
}

/** What the files have in common that one task reads. */
private final class TaskReads(task: TaskContext, cache: ColumnCache, orders: ReadOrders) {
  private val counters = new CacheCounters
  private val context: ReadContext =
    CachedParquetReaderFactory.contextAtHome(cache, orders.policy, counters)

  cache.limit(orders.policy.limits.asJava)
  task.addTaskCompletionListener[Unit] { _ =>
    ExecutorCache.addTotals(counters)
    orders.figures.add(Figures.of(counters))
  }

  def file(path: Path): FileRead =
    new FileRead(path, orders.kind.layouts, cache, context)
}
