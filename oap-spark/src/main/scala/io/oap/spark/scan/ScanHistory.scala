package io.oap.spark.scan

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.{FileSourceScanExec, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.oap.spark.internals.SparkInternals
import io.oap.spark.read.ScanMetrics
import io.oap.spark.status.{ScanEnded, ScanReport}
import io.oap.spark.status.CountingFormat

/** Makes the events [[ScanEnded]] from what Spark says when an execution ends. */
private[spark] final class ScanHistory(post: ScanEnded => Unit) extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: SparkListenerSQLExecutionEnd =>
      // A failed execution does not say what it ran.
      Option(SparkInternals.execution(end)).foreach { query =>
        ScanHistory.scansOf(end.executionId, end.time, query).foreach(post)
      }
    case _ => ()
  }
}

private[spark] object ScanHistory extends AdaptiveSparkPlanHelper {

  private def labelOf(table: Table): String = table match {
    case cached: CachedParquetTable => cached.label
    case other => other.name
  }

  private def scansOf(execution: Long, at: Long, query: QueryExecution): Seq[ScanEnded] =
    collectWithSubqueries(query.executedPlan) {
      case scan: BatchScanExec if scan.scan.isInstanceOf[CachedScan] =>
        val columns = scan.scan.readSchema().fieldNames.toSeq
        ended(execution, at, labelOf(scan.table), columns, shown(scan))
      case FileScan(scan, format) =>
        val columns = scan.requiredSchema.fieldNames.toSeq
        val metrics = shown(scan) ++ ScanMetrics.of(format.figures)
        ended(execution, at, format.table, columns, metrics)
    }

  private def shown(scan: SparkPlan): Map[String, Long] =
    scan.metrics.map { case (name, metric) => name -> metric.value }

  private def ended(
      execution: Long,
      at: Long,
      table: String,
      columns: Seq[String],
      metrics: Map[String, Long]): ScanEnded =
    new ScanEnded(new ScanReport(
      execution,
      at,
      table,
      columns.asJava,
      metrics.map { case (name, value) => name -> Long.box(value) }.asJava))

  private object FileScan {
    def unapply(scan: FileSourceScanExec): Option[(FileSourceScanExec, CountingFormat)] =
      Option(scan.relation).map(_.fileFormat).collect { case format: CountingFormat =>
        scan -> format
      }
  }
}
