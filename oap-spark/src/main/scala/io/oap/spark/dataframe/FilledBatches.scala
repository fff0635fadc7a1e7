package io.oap.spark.dataframe

import java.lang.ref.WeakReference

import scala.collection.mutable.ArrayBuffer
import scala.reflect.ClassTag

import org.apache.spark.{NarrowDependency, Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.columnar.CachedBatch

/** The batches that are made of what a plan gives; by this class what Spark caches is known as ours. */
private[dataframe] final class FilledBatches[T: ClassTag](input: RDD[T], fill: BatchFill[T])
    extends RDD[CachedBatch](input) {

  override protected def getPartitions: Array[Partition] = firstParent[T].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    new TaskBatches(fill.batches(firstParent[T].iterator(split, context)), context)
}

/**
 * The batches that a task makes. Spark keeps a block once it has seen the last batch of it: where the
 * task ends before that, nobody has them.
 */
private final class TaskBatches(batches: Iterator[CachedBatch], context: TaskContext)
    extends Iterator[CachedBatch] {
  // What is garbage closes itself, and may be large.
  private val made = ArrayBuffer.empty[WeakReference[VectorBatch]]

  context.addTaskCompletionListener[Unit](_ => closeUnkept())

  override def hasNext: Boolean = {
    val hasMore = batches.hasNext
    if (!hasMore) synchronized(made.clear())
    hasMore
  }

  override def next(): CachedBatch = {
    val batch = batches.next()
    batch match {
      case vectors: VectorBatch => synchronized(made += new WeakReference(vectors)): Unit
      case _ =>
    }
    batch
  }

  private def closeUnkept(): Unit = synchronized {
    made.foreach(one => Option(one.get).foreach(_.close()))
    made.clear()
  }
}

private[dataframe] object FilledBatches {

  /** Whether these are our batches, perhaps filtered, rather than those of Spark's serializer. */
  def areIn(batches: RDD[_]): Boolean = batches match {
    case _: FilledBatches[_] => true
    case other =>
      other.dependencies match {
        case Seq(parent: NarrowDependency[_]) => areIn(parent.rdd)
        case _ => false
      }
  }
}
