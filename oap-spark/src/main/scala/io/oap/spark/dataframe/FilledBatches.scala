package io.oap.spark.dataframe

import org.apache.spark.{NarrowDependency, Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.columnar.CachedBatch

/** The batches that are made of a plan's rows; by this class what Spark caches is known as ours. */
private[dataframe] final class FilledBatches(rows: RDD[InternalRow], fill: BatchFill)
    extends RDD[CachedBatch](rows) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    fill.batches(firstParent[InternalRow].iterator(split, context))
}

private[dataframe] object FilledBatches {

  /** Whether these are our batches, perhaps filtered, rather than those of Spark's serializer. */
  def areIn(batches: RDD[_]): Boolean = batches match {
    case _: FilledBatches => true
    case other =>
      other.dependencies match {
        case Seq(parent: NarrowDependency[_]) => areIn(parent.rdd)
        case _ => false
      }
  }
}
