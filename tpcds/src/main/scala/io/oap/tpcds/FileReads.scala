package io.oap.tpcds

import java.util.concurrent.{Semaphore, TimeUnit}
import java.util.concurrent.atomic.LongAdder

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerTaskEnd}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.oap.tpcds.result.QueryRun
import io.oap.tpcds.storage.Pace

/**
 * What queries read from data files, counted by the file system, not by the cache. In one JVM the
 * paced file system is asked. The executors of a cluster are other JVMs: there the bytes are those
 * of Spark's task metrics, which come from the file system's statistics of the task's thread.
 *
 * For one caller at a time.
 */
final class FileReads(context: SparkContext) {
  private val taskBytes = new LongAdder
  private val endedQueries = new Semaphore(0)

  context.addSparkListener(new SparkListener {
    override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
      Option(end.taskMetrics).foreach(m => taskBytes.add(m.inputMetrics.bytesRead))

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case _: SparkListenerSQLExecutionEnd => endedQueries.release()
      case _ =>
    }
  })

  /** Runs a query of TPC-DS, with what it read. */
  def ofRun(session: SparkSession, query: String): (Seq[Row], QueryRun) = {
    val counted = during(QueryRun.of(session, query))
    val (rows, run) = counted.result
    (rows, run.copy(fileBytes = Some(counted.bytes), requests = counted.requests))
  }

  /** @param body runs exactly one query */
  def during[T](body: => T): FileReads.Counted[T] = during(body, (_: T) => 1)

  /** @param queries how many queries the body has run, judged by what it returned */
  def during[T](body: => T, queries: T => Int): FileReads.Counted[T] =
    if (context.isLocal) {
      val before = Pace.readsOfThisJvm()
      val result = body
      val reads = Pace.readsOfThisJvm().minus(before)
      FileReads.Counted(result, reads.bytes, Some(reads.logBytes), Some(reads.requests))
    } else {
      endedQueries.drainPermits()
      val before = taskBytes.sum()
      val result = body
      // Events reach a listener in order: after the end of the query come no more of its tasks.
      if (!endedQueries.tryAcquire(queries(result), 1, TimeUnit.MINUTES)) {
        throw new IllegalStateException("Spark did not report the end of all queries")
      }
      FileReads.Counted(result, taskBytes.sum() - before, None, None)
    }
}

object FileReads {

  /**
   * What was read while something ran.
   *
   * @param bytes of data files, footers included
   * @param logBytes of other files of tables; none where the file system cannot be asked
   * @param requests none where the file system cannot be asked
   */
  final case class Counted[T](
      result: T,
      bytes: Long,
      logBytes: Option[Long],
      requests: Option[Long])
}
