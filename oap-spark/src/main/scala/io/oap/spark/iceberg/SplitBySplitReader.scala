package io.oap.spark.iceberg

import scala.collection.mutable

import org.apache.iceberg.FileScanTask
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.spark.internals.SparkInternals

/**
 * The splits of one task in their order: by our own readers where they can, else by Iceberg's.
 *
 * A thread that reads for the task may outlive it. Once this is closed it gets no more batches; to
 * close waits for the batch that such a thread is at.
 *
 * @param byIceberg opens Iceberg's reader of some splits
 */
private[iceberg] final class SplitBySplitReader(
    splits: Seq[FileScanTask],
    flat: FlatSplits,
    byIceberg: Seq[FileScanTask] => PartitionReader[ColumnarBatch])
    extends PartitionReader[ColumnarBatch] {

  private var rest = splits
  private var current: Option[PartitionReader[ColumnarBatch]] = None
  private var isClosed = false

  // What Iceberg tells of its readers, by name, and our own part of it.
  private val told = mutable.LinkedHashMap.empty[String, Long]

  override def next(): Boolean = synchronized {
    var found = !isClosed && current.exists(_.next())
    while (!found && !isClosed && rest.nonEmpty) {
      closeCurrent()
      current = Some(open())
      found = current.exists(_.next())
    }
    if (!found) closeAll()
    found
  }

  private def open(): PartitionReader[ColumnarBatch] = {
    val split = rest.head
    if (flat.mayRead(split)) {
      rest = rest.tail
      // As Iceberg's readers do, for input_file_name().
      SparkInternals.beginFile(split.file.location, split.start, split.length)
      flat.open(split) match {
        case Some(reader) =>
          add(SplitBySplitReader.Splits, 1)
          reader
        case None => byIceberg(Seq(split))
      }
    } else {
      val (run, others) = rest.span(!flat.mayRead(_))
      rest = others
      byIceberg(run)
    }
  }

  private def add(metric: String, value: Long): Unit =
    told(metric) = told.getOrElse(metric, 0L) + value

  private def closeCurrent(): Unit = {
    val reader = current
    current = None
    reader.foreach { one =>
      one.currentMetricsValues().foreach(metric => add(metric.name, metric.value))
      one.close()
    }
  }

  override def get(): ColumnarBatch = current.get.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] = synchronized {
    val sums = mutable.LinkedHashMap.from(told)
    for (reader <- current; metric <- reader.currentMetricsValues())
      sums(metric.name) = sums.getOrElse(metric.name, 0L) + metric.value
    sums.map { case (name, value) => SplitBySplitReader.Told(name, value) }.toArray
  }

  override def close(): Unit = synchronized {
    isClosed = true
    SparkInternals.endFile()
    closeAll()
  }

  /**
   * Frees what is open. At the end of the last split, too: Spark closes readers when the task ends,
   * and a task of coalesce has one of each partition.
   */
  private def closeAll(): Unit =
    try closeCurrent()
    finally flat.close()
}

private[iceberg] object SplitBySplitReader {

  /** What Iceberg calls the number of splits that a task has read. */
  private val Splits = "numSplits"

  /** Tells, by Iceberg's name for it, how many rows a reader has left out as deleted. */
  def deletes(rows: Long): CustomTaskMetric = Told("numDeletes", rows)

  private final case class Told(name: String, value: Long) extends CustomTaskMetric
}
