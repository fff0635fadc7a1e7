package io.oap.spark.framescan

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.columnar.{CachedBatch, CachedBatchSerializer}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * A scan of a cached DataFrame that drops rows by join keys. To Spark it is the scan, since the rows
 * are the same where they have been joined: so exchanges that were equal are.
 *
 * @param keys dynamic pruning on columns of the scan, that which it has itself, too
 */
private[spark] final case class KeyedFrameScan(
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
    serializer.convertCachedBatchToInternalRow(batches, relation.output, output, conf).map { row =>
      rows += 1
      row
    }
  }

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val rows = longMetric("numOutputRows")
    serializer.convertCachedBatchToColumnarBatch(batches, relation.output, output, conf).map {
      batch =>
        rows += batch.numRows
        batch
    }
  }

  private def relation: InMemoryRelation = scan.relation

  private def serializer: CachedBatchSerializer = relation.cacheBuilder.serializer

  /**
   * What the conditions leave, with the keys, which Spark has by now. The scan would do the same; by
   * rows it would also send its conditions with each task.
   */
  private def batches: RDD[CachedBatch] = {
    val all = relation.cacheBuilder.cachedColumnBuffers
    if (conf.inMemoryPartitionPruning)
      all.mapPartitionsWithIndex(
        serializer.buildFilter((scan.predicates ++ keys).distinct, relation.output))
    else all
  }
}
