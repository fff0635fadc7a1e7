package io.oap.spark.optimizer

import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeSet,
  BinaryComparison,
  Cast,
  DynamicPruningExpression,
  EqualTo,
  Expression,
  IsNotNull,
  IsNull,
  Literal,
  NamedExpression,
  Not,
  Or,
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

import io.oap.spark.scan.CachedParquetScan

/**
 * Hands the value of a scalar subquery that a column must equal to the cached scan below, as if it
 * were the only key of a join: `WHERE day = (SELECT max(day) FROM t)` then reads one partition.
 * Spark does so for V1 scans, and evaluates the condition only above V2 scans. The subquery runs
 * once for both. And it evaluates conditions in an order as good as that of the query.
 */
private[spark] object SubqueryPruning extends Rule[SparkPlan] with PredicateHelper {

  /** As what a session takes it; it needs the subqueries of a plan to be planned. */
  object Columnar extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = SubqueryPruning
  }

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case filter @ FilterExec(condition, batch: BatchScanExec) if condition.exists(isValue) =>
      batch.scan match {
        case scan: CachedParquetScan if scan.pushedAggregate.isEmpty =>
          val conditions = splitConjunctivePredicates(condition)
          val more = conditions.flatMap(pruning(_, scan))
            .filterNot(batch.runtimeFilters.contains(_))
          FilterExec(
            harmlessFirst(conditions).reduceLeft(And),
            batch.copy(runtimeFilters = batch.runtimeFilters ++ more))
        case _ => filter
      }
  }

  /**
   * Spark's push-down into V2 scans puts conditions with subqueries last, behind those they may
   * have kept rows from, such as a division by zero. One that cannot fail is as right before all.
   */
  private def harmlessFirst(conditions: Seq[Expression]): Seq[Expression] = {
    val (first, last) = conditions.partition(one => one.exists(isValue) && cannotFail(one))
    first ++ last
  }

  private def isValue(expression: Expression): Boolean = expression.isInstanceOf[ScalarSubquery]

  private def cannotFail(expression: Expression): Boolean = expression match {
    case _: Attribute | _: Literal | _: ScalarSubquery => true
    case cast: Cast =>
      Cast.canUpCast(cast.child.dataType, cast.dataType) && cannotFail(cast.child)
    case _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull =>
      expression.children.forall(cannotFail)
    case _ => false
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
