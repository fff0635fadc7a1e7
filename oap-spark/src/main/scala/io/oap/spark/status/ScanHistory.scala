package io.oap.spark.status

import java.util.ArrayDeque

import scala.jdk.CollectionConverters._

import com.google.common.collect.MapMaker
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.oap.spark.{CachedParquetScan, CachedParquetTable, SparkInternals}

/**
 * A scan that has ended, with what the SQL tab shows of it.
 *
 * @param execution Spark's id of the SQL execution
 * @param table name of the table, or its paths
 * @param columns that were read
 * @param metrics see [[io.oap.spark.ScanMetrics]]
 */
private[status] final case class EndedScan(
    execution: Long,
    endedMillis: Long,
    table: String,
    columns: Seq[String],
    metrics: Map[String, Long])

/** The last cached scans of an application that have ended, oldest first. Thread-safe. */
private[spark] final class ScanHistory private () extends SparkListener {
  private val scans = new ArrayDeque[EndedScan]

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      // A failed execution does not say what it ran.
      Option(SparkInternals.execution(end)).foreach { query =>
        ScanHistory.scansOf(end.executionId, end.time, query).foreach(add)
      }
    case _ => ()
  }

  private def add(scan: EndedScan): Unit = scans.synchronized {
    scans.addLast(scan)
    if (scans.size > ScanHistory.Most) {
      scans.removeFirst()
    }
  }

  private[status] def all: Seq[EndedScan] = scans.synchronized(scans.asScala.toList)
}

private[spark] object ScanHistory extends AdaptiveSparkPlanHelper {

  /** How many scans are kept: some hundred bytes each. */
  val Most = 1000

  private val histories = new MapMaker().weakKeys().makeMap[SparkContext, ScanHistory]()

  /** That of an application, from its driver; it begins with the first call. */
  def of(context: SparkContext): ScanHistory = histories.computeIfAbsent(
    context,
    _ => {
      val history = new ScanHistory
      context.addSparkListener(history)
      history
    })

  private def scansOf(execution: Long, ended: Long, query: QueryExecution): Seq[EndedScan] =
    collectWithSubqueries(query.executedPlan) {
      case scan @ BatchScanExec(_, cached: CachedParquetScan, _, _, table: CachedParquetTable, _) =>
        EndedScan(
          execution,
          ended,
          table.label,
          cached.readSchema().fieldNames.toSeq,
          scan.metrics.map { case (name, metric) => name -> metric.value })
    }
}
