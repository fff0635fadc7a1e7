package io.oap.spark

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  DynamicPruningExpression,
  EqualTo,
  Expression,
  NamedExpression,
  PredicateHelper,
  ScalarSubquery => LogicalScalarSubquery
}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{
  ColumnarRule,
  FilterExec,
  InSubqueryExec,
  ScalarSubquery,
  SparkPlan
}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * Hands the value of a scalar subquery that a column must equal to the cached scan below, as if it
 * were the only key of a join: `WHERE day = (SELECT max(day) FROM t)` then reads one partition.
 * Spark does so for V1 scans, and evaluates the condition only above V2 scans. The subquery runs
 * once for both.
 */
private object SubqueryPruning extends Rule[SparkPlan] with PredicateHelper {

  /** As what a session takes it; it needs the subqueries of a plan to be planned. */
  object Columnar extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = SubqueryPruning
  }

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case filter @ FilterExec(condition, batch: BatchScanExec) =>
      batch.scan match {
        case scan: CachedParquetScan if scan.pushedAggregate.isEmpty =>
          val more = splitConjunctivePredicates(condition).flatMap(pruning(_, scan))
            .filterNot(batch.runtimeFilters.contains(_))
          if (more.isEmpty) filter
          else filter.copy(child = batch.copy(runtimeFilters = batch.runtimeFilters ++ more))
        case _ => filter
      }
  }

  private def pruning(
      condition: Expression,
      scan: CachedParquetScan): Option[DynamicPruningExpression] = {
    val found = condition match {
      case EqualTo(column: Attribute, subquery: ScalarSubquery) => Some(column -> subquery)
      case EqualTo(subquery: ScalarSubquery, column: Attribute) => Some(column -> subquery)
      case _ => None
    }
    found.collect {
      case (column, subquery) if scan.takesKeysOf(column.name) =>
        DynamicPruningExpression(
          InSubqueryExec(column, subquery.plan, NamedExpression.newExprId))
    }
  }

  /**
   * Whether a plan prunes partitions by a scalar subquery in a way that only a V1 scan can: by
   * another condition than that a column equals it.
   */
  def isBeyond(plan: LogicalPlan, partitionColumns: AttributeSet): Boolean = plan.exists {
    case Filter(condition, _) =>
      splitConjunctivePredicates(condition).exists(one =>
        one.exists(_.isInstanceOf[LogicalScalarSubquery]) && !isEquality(one) &&
          one.references.nonEmpty && one.references.subsetOf(partitionColumns))
    case _ => false
  }

  private def isEquality(condition: Expression): Boolean = condition match {
    case EqualTo(_: Attribute, _: LogicalScalarSubquery) => true
    case EqualTo(_: LogicalScalarSubquery, _: Attribute) => true
    case _ => false
  }
}
