package io.oap.spark.framescan

import org.apache.spark.sql.catalyst.expressions.{And, DynamicPruningExpression, PredicateHelper}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, ColumnarToRowExec, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

/**
 * Takes the dynamic pruning of [[KeysBelowShuffles]] out of the filters above scans of cached
 * DataFrames, where Spark repeats what it tells a scan. The scan drops rows by it, and the join does. A
 * filter would have all keys sent with each task, and where it is not generated code it cannot have them:
 * Spark gives the values of a dynamic pruning to no task.
 */
private[spark] object PrunedFrames extends Rule[SparkPlan] with PredicateHelper {

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case filter @ FilterExec(condition, child) if readsFrame(child) =>
      val (prunings, others) =
        splitConjunctivePredicates(condition).partition(_.isInstanceOf[DynamicPruningExpression])
      if (prunings.isEmpty) filter else others.reduceOption(And).fold(child)(FilterExec(_, child))
  }

  private def readsFrame(plan: SparkPlan): Boolean = plan match {
    case _: InMemoryTableScanExec | _: TableCacheQueryStageExec | _: KeyedFrameScan => true
    case ColumnarToRowExec(scan) => readsFrame(scan)
    case _ => false
  }

  /** Comes before rows and columns are told apart. */
  object Columnar extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = PrunedFrames
  }
}
