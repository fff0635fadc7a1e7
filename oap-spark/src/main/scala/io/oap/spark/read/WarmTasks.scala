package io.oap.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.spark.{SparkEnv, TaskContext, TaskKilledException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.FilePartition

import io.oap.cache.ColumnCache
import io.oap.spark.executor.ExecutorCache

/**
 * What loads all that a scan reads, instead of giving rows.
 *
 * @param partitions what each task loads
 * @param readers makes the readers; told whether a task that runs elsewhere than its chunks belong
 *     does nothing
 * @param hadoop how the files are opened; nothing where they are not read by Hadoop's file systems
 * @param filesOf paths of the data files that a partition reads
 */
private[spark] final case class WarmTasks(
    partitions: Seq[InputPartition],
    readers: Boolean => WarmReaderFactory,
    hadoop: Option[HadoopFiles],
    filesOf: InputPartition => Seq[String] = WarmTasks.filesOf) {

  /** Leaves the tasks that read one of these files. */
  def reading(files: Set[String]): WarmTasks =
    copy(partitions = partitions.filter(filesOf(_).exists(files)))
}

private[spark] object WarmTasks {

  private def filesOf(partition: InputPartition): Seq[String] = partition match {
    case some: FilePartition => some.files.toSeq.map(_.toPath.toString)
    case _ => Nil
  }
}

/** By which configuration and options of the reader a scan opens its files. */
private[spark] final case class HadoopFiles(conf: Configuration, options: Map[String, String])

/**
 * Makes readers that give no rows of a table: they load the chunks that a scan would read, and give
 * [[Warmed]] as rows. Nothing is counted as hit or missed.
 *
 * @param isPatient whether a task that runs elsewhere than its chunks belong does nothing
 */
private[spark] abstract class WarmReaderFactory(isPatient: Boolean) extends PartitionReaderFactory {

  override final def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val here = SparkEnv.get.executorId
    if (isPatient && isElsewhere(partition))
      new OneRow(() => Warmed(here, isElsewhere = true).toRow)
    else
      ExecutorCache.get() match {
        case Some(cache) => reader(partition, cache)
        case None =>
          val fault = ExecutorCache.whyNone
          new OneRow(() => Warmed(here, fault = Some(fault)).toRow)
      }
  }

  protected def isElsewhere(partition: InputPartition): Boolean =
    CachedParquetReaderFactory.isElsewhere(partition)

  /** A reader of a partition that is to be loaded here. */
  protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow]
}

private[spark] object WarmReaderFactory {

  /** Ends a task that was cancelled. */
  def throwIfCancelled(): Unit =
    if (TaskContext.get().isInterrupted()) throw new TaskKilledException("warming was cancelled")
}

/** A reader of one row. */
private[spark] final class OneRow(row: () => InternalRow) extends PartitionReader[InternalRow] {
  private var isRead = false
  private var value: InternalRow = _

  override def next(): Boolean = {
    val isFirst = !isRead
    isRead = true
    if (isFirst) value = row()
    isFirst
  }

  override def get(): InternalRow = value

  override def close(): Unit = ()
}
