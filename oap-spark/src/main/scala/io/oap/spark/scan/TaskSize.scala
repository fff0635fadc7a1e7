package io.oap.spark.scan

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.internal.SQLConf

/**
 * How much of a scan one task gets.
 *
 * Spark cuts a scan by bytes of files, whichever columns are read. What a task costs besides its
 * rows, its start and a shuffle file for each partition of the next stage, is then most of the work
 * where the scan reads few columns and hands on few rows.
 */
private[spark] object TaskSize {

  /** So many tasks for each core are left that all cores are done at about the same time. */
  private val TasksPerCore = 3

  /**
   * Bytes of files that go into one task, about: what Spark's own packing would take, or more
   * where the scan drops rows. Then it is as if the files had no columns but those that are read,
   * as long as enough tasks are left for all cores.
   *
   * @param bytes of all files, with what opening each of them costs
   * @param readShare of the bytes of a row, those that are read; from 0 to 1
   * @param dropsRows whether rows go on to the query only if their join keys have been found
   */
  def bytes(
      session: SparkSession,
      conf: SQLConf,
      bytes: Long,
      readShare: Double,
      dropsRows: Boolean): Long = {
    val ofMostTasks = conf.filesMaxPartitionNum.fold(0.0)(most => math.ceil(bytes.toDouble / most))
    val ofSpark = math.max(FilePartition.maxSplitBytes(session, bytes), ofMostTasks.toLong)
    if (!dropsRows) ofSpark
    else {
      val cores = conf.filesMinPartitionNum
        .orElse(conf.getConf(SQLConf.LEAF_NODE_DEFAULT_PARALLELISM))
        .getOrElse(session.sparkContext.defaultParallelism)
      val ofColumns = ofSpark / math.max(readShare, 1e-6)
      val ofCores = math.ceil(bytes.toDouble / TasksPerCore / cores)
      math.max(ofSpark, math.min(ofColumns, ofCores).toLong)
    }
  }

  /** Spark's reader of a task's files goes down one call for each file in which it finds no row. */
  private[spark] val MostItems = 1000

  /** Items as tasks of about equal size, each within `taskBytes` if it can be, in their order. */
  def packed[A](items: Seq[A], cost: A => Long, taskBytes: Long): Seq[Seq[A]] = {
    val total = items.iterator.map(cost).sum
    val tasks = math.max(1, (total + taskBytes - 1) / taskBytes)
    val share = (total + tasks - 1) / tasks
    val packed = ArrayBuffer(ArrayBuffer.empty[A])
    var size = 0L
    items.foreach { item =>
      // To the nearer end: otherwise every task would be too small, or every one too large.
      val isFull = size + cost(item) / 2 > share || packed.last.size >= MostItems
      if (packed.last.nonEmpty && isFull) {
        packed += ArrayBuffer.empty
        size = 0
      }
      packed.last += item
      size += cost(item)
    }
    packed.map(_.toSeq).toSeq
  }
}
