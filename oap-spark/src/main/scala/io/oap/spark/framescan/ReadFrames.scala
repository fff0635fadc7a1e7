package io.oap.spark.framescan

import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarToRowExec, InSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec

import io.oap.spark.dataframe.{DataFrames, FilledBatches}
import io.oap.spark.optimizer.{BroadcastKeys, JoinKeys}

/**
 * Has a stage of an adaptive plan read cached DataFrames by columns, from which generated code takes
 * no more than it needs, and drop rows by the keys of broadcasts that it joins with, which are there
 * when it begins. Spark reads a cached DataFrame by rows wherever rows are wanted, each made whole.
 */
private[spark] object ReadFrames extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!DataFrames.areOn(conf)) plan
    else {
      val broadcasts = new BroadcastKeys(plan)
      plan.transformUp {
        case stage @ TableCacheQueryStageExec(_, scan: InMemoryTableScanExec)
            if FilledBatches.areIn(scan.baseCacheRDD()) =>
          val own = scan.predicates.collect {
            case pruning @ DynamicPruningExpression(_: InSubqueryExec) => pruning
          }
          val keys = own ++
            broadcasts.conditions(stage) { (_, few) =>
              scan.runtimeStatistics.rowCount.exists(JoinKeys.areFew(few, _))
            }
          byColumns(if (keys.isEmpty) stage else KeyedFrameScan(scan, keys))
      }
    }

  private def byColumns(scan: SparkPlan): SparkPlan =
    if (scan.supportsColumnar) ColumnarToRowExec(scan) else scan
}
