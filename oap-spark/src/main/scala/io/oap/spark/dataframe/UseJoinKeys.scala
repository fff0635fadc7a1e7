package io.oap.spark.dataframe

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  DynamicPruningExpression,
  Expression,
  InSet,
  SortOrder
}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{InSubqueryExec, LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.adaptive.TableCacheQueryStageExec
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.spark.optimizer.{BroadcastKeys, JoinKeys}

/**
 * Has scans of cached DataFrames drop rows by the keys of broadcasts that their stage joins with:
 * these are there when an adaptive plan begins the stage.
 */
private[spark] object UseJoinKeys extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!DataFrames.areOn(conf)) plan
    else {
      val broadcasts = new BroadcastKeys(plan)
      plan.transformUp { case stage @ TableCacheQueryStageExec(_, scan: InMemoryTableScanExec) =>
        val keys = broadcasts.conditions(stage) { (_, few) =>
          FilledBatches.areIn(scan.baseCacheRDD()) &&
          scan.runtimeStatistics.rowCount.exists(JoinKeys.areFew(few, _))
        }
        if (keys.isEmpty) stage else KeyedFrameScan(scan, keys)
      }
    }
}

/**
 * A scan of a cached DataFrame that drops rows by join keys. To Spark it is the scan, since the rows
 * are the same where they have been joined: so exchanges that were equal are.
 *
 * @param keys dynamic pruning on columns of the scan
 */
private[dataframe] final case class KeyedFrameScan(
    scan: InMemoryTableScanExec,
    keys: Seq[Expression])
    extends LeafExecNode {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override val nodeName: String = scan.nodeName

  override def output: Seq[Attribute] = scan.output

  override def outputPartitioning: Partitioning = scan.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = scan.outputOrdering

  override def vectorTypes: Option[Seq[String]] = scan.vectorTypes

  override def supportsRowBased: Boolean = scan.supportsRowBased

  override def supportsColumnar: Boolean = scan.supportsColumnar

  override protected def doCanonicalize(): SparkPlan = scan.canonicalized

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = longMetric("numOutputRows")
    keyed.execute().map { row =>
      rows += 1
      row
    }
  }

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val rows = longMetric("numOutputRows")
    keyed.executeColumnar().map { batch =>
      rows += batch.numRows
      batch
    }
  }

  /** The scan with the keys, which Spark has by now. */
  private def keyed: SparkPlan = {
    val conditions = keys.collect {
      case DynamicPruningExpression(in: InSubqueryExec) =>
        in.values().map(values => InSet(in.child, values.toSet))
    }
    scan.copy(predicates = scan.predicates ++ conditions.flatten)
  }
}
