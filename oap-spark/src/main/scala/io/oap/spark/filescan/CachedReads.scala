package io.oap.spark.filescan

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile

import io.oap.cache.{ColumnCache, ReadContext, WarmedChunks}
import io.oap.cache.layout.LayoutReader
import io.oap.cache.orc.OrcLayout
import io.oap.cache.parquet.ParquetLayout
import io.oap.cache.stats.CacheCounters
import io.oap.spark.executor.{ExecutorCache, KeptStatuses}
import io.oap.spark.read.{CachedParquetReaderFactory, FileBlame, UnservedFileException, Warmed}
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
 * @param keepsStatuses whether a file's status of some minutes ago tells its version
 * @param figures get what the tasks count
 */
private[filescan] final case class ReadOrders(
    kind: FileKind,
    keepsStatuses: Boolean,
    policy: ScanCachePolicy,
    figures: ReaderFigures) {

  /**
   * Has files read through the cache.
   *
   * @param read a format's function, whose reader gets the bytes of a file that it opens from the cache
   * @param own how the files are read without it, if they are
   */
  def reading(
      read: PartitionedFile => Iterator[InternalRow],
      own: Option[OwnReads]): PartitionedFile => Iterator[InternalRow] =
    new CachedReads(read, own, this)
}

/**
 * Reads the files of a task. Each task has a copy of its own, made where it runs. Without a cache,
 * and outside of tasks, it reads as Spark alone does.
 */
private final class CachedReads(
    read: PartitionedFile => Iterator[InternalRow],
    own: Option[OwnReads],
    orders: ReadOrders)
    extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  @transient private lazy val task: Option[TaskReads] =
    for (context <- Option(TaskContext.get()); cache <- ExecutorCache.get())
      yield new TaskReads(context, cache, orders, read, own)

  override def apply(file: PartitionedFile): Iterator[InternalRow] =
    task.fold(read(file))(_.open(file))
}

/** Reads the files of one task through the cache. */
private final class TaskReads(
    task: TaskContext,
    cache: ColumnCache,
    orders: ReadOrders,
    read: PartitionedFile => Iterator[InternalRow],
    own: Option[OwnReads]) {

  private val warming = TaskWarming.current
  private val counters = warming.fold(new CacheCounters)(_.counters)
  private val context: ReadContext = {
    val ofQuery = CachedParquetReaderFactory.contextAtHome(cache, orders.policy, counters)
    warming.fold(ofQuery)(one => ofQuery.warming(one.chunks))
  }
  // Another thread than the task's may read, where rows go to a process beside the executor.
  @volatile private var kept = List.empty[KeptStatuses.Listed]
  private val splits = own.filter(_ => warming.isEmpty).map(_.splits(cache, context))

  cache.limit(orders.policy.limits.asJava)
  if (warming.isEmpty) {
    // Spark closes the file that is open later, when nobody looks at its last batch any more.
    task.addTaskCompletionListener[Unit] { _ =>
      splits.foreach(_.close())
      ExecutorCache.addTotals(counters)
      orders.figures.add(Figures.of(counters))
    }
  }

  task.addTaskFailureListener((_, _) => kept.foreach(KeptStatuses.here.forget))

  def open(file: PartitionedFile): Iterator[InternalRow] = {
    val opened = fileOf(file)
    try
      (own, splits) match {
        case (Some(reads), Some(opener)) => reads.open(opener, file, opened, cache, context)
        case (Some(reads), None) =>
          reads.warm(file, opened, cache, context)
          Iterator.empty
        case _ => bytes(file, opened)
      }
    catch { case _: UnservedFileException => bytes(file, opened) }
  }

  private def fileOf(file: PartitionedFile): FileRead = {
    val layouts = orders.kind.layouts
    if (!orders.keepsStatuses) new FileRead(file.toPath, layouts, cache, context)
    else {
      val listed = KeptStatuses.Listed(file.toPath, file.fileSize, file.modificationTime)
      kept = listed :: kept
      // What is kept may be why the task has failed before, on another executor perhaps.
      val version: FileRead.Version =
        if (task.attemptNumber() == 0) KeptStatuses.here.of(listed, _)
        else KeptStatuses.here.askAgain(listed, _)
      new FileRead(file.toPath, version, layouts, cache, context)
    }
  }

  private def bytes(file: PartitionedFile, opened: FileRead): Iterator[InternalRow] =
    FileBlame.sparingRows(FileBlame.sparing(opened.whileOpening(() => read(file))))
}

/** What comes of the reads of a task that gives no rows, but sees to it that chunks are held. */
private[filescan] final class TaskWarming {
  val counters = new CacheCounters
  val chunks = new WarmedChunks

  /** Runs what reads files on this thread; returns what came of it. */
  def of(read: => Unit): Warmed = {
    TaskWarming.threads.set(this)
    try read
    finally TaskWarming.threads.remove()
    Warmed.here(chunks, counters)
  }
}

private object TaskWarming {
  // Spark's RDD stands between who wants the files read and who reads them.
  private val threads = new ThreadLocal[TaskWarming]

  /** Of the task of this thread, if it is such a one. */
  def current: Option[TaskWarming] = Option(threads.get)
}
