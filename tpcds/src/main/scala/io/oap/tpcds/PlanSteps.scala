package io.oap.tpcds

import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{
  BroadcastHashJoinExec,
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}

/** How often a plan that has been run reads a table, passes rows on and joins them, by kinds. */
object PlanSteps extends AdaptiveSparkPlanHelper {

  /**
   * Counts the steps of a plan, subqueries included. What is reused counts once, so an exchange that
   * two plans share in one system and not in the other one shows.
   */
  def of(plan: SparkPlan): Map[String, Long] =
    collectWithSubqueries(plan) { case node if kind(node).isDefined => node }
      .distinctBy(System.identityHashCode(_))
      .flatMap(kind)
      .groupMapReduce(identity)(_ => 1L)(_ + _)

  private def kind(node: SparkPlan): Option[String] = node match {
    case _: BatchScanExec | _: FileSourceScanExec => Some("scans")
    case _: ShuffleExchangeLike => Some("shuffles")
    case _: BroadcastExchangeLike => Some("broadcasts")
    case _: BroadcastHashJoinExec => Some("broadcast joins")
    case _: SortMergeJoinExec => Some("sort-merge joins")
    case _: ShuffledHashJoinExec => Some("shuffled hash joins")
    case _: BroadcastNestedLoopJoinExec | _: CartesianProductExec => Some("nested loop joins")
    case _ => None
  }

  /** What one plan does more or less often than another one, as text; empty where nothing. */
  def difference(expected: Map[String, Long], actual: Map[String, Long]): String =
    (expected.keySet ++ actual.keySet).toSeq.sorted.flatMap { kind =>
      val (before, now) = (expected.getOrElse(kind, 0L), actual.getOrElse(kind, 0L))
      Option.when(before != now)(s"$kind $before -> $now")
    }.mkString(", ")
}
