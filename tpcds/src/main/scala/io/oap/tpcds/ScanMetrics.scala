package io.oap.tpcds

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.cache.stats.Figure
import io.oap.spark.CacheControl

/** The column cache's own metrics in a plan that has been run, summed over its scans. */
object ScanMetrics extends AdaptiveSparkPlanHelper {

  /** Names under which the extension's scan reports: bytes, counts, and milliseconds for loadTime. */
  val Names: Seq[String] = Figure.OF_READERS.asScala.map(_.metric).toSeq

  /**
   * Sums by name; empty when no scan of the plan reads through the cache.
   *
   * Looks into query stages and subqueries. A reused exchange or subquery has run once and is
   * counted once.
   */
  def of(plan: SparkPlan): Map[String, Long] =
    (ofV2(plan).toSeq ++ ofV1(plan)).groupMapReduce(_._1)(_._2)(_ + _)

  /** V1 scans have no metrics but Spark's; their format tells. */
  private def ofV1(plan: SparkPlan): Seq[(String, Long)] = {
    val scans = collectWithSubqueries(plan) { case scan: FileSourceScanExec => scan }
    scans.distinctBy(scan => System.identityHashCode(scan.relation.fileFormat))
      .flatMap(CacheControl.figures(_)).flatten
  }

  private def ofV2(plan: SparkPlan): Map[String, Long] = {
    val scans = collectWithSubqueries(plan) {
      case scan: BatchScanExec if scan.metrics.contains(Names.head) => scan
    }
    val metrics = for {
      scan <- scans
      name <- Names
      metric <- scan.metrics.get(name)
    } yield (metric.id, name, metric.value)
    metrics.distinct.groupMapReduce(_._2)(_._3)(_ + _)
  }
}
