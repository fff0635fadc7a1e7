package io.oap.spark.dataframe

import java.lang.ref.WeakReference

import scala.collection.mutable.ArrayBuffer
import scala.reflect.ClassTag

import org.apache.spark.{NarrowDependency, OneToOneDependency, Partition, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.storage.StorageLevel

/** The batches that are made of what a plan gives; by this class what Spark caches is known as ours. */
private[dataframe] final class FilledBatches[T: ClassTag](input: RDD[T], fill: BatchFill[T])
    extends RDD[CachedBatch](input) {

  override protected def getPartitions: Array[Partition] = firstParent[T].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    new TaskBlock(fill.batches(firstParent[T].iterator(split, context), context), context)
}

/** The batches that Spark's own serializer makes, perhaps of rows that were cached as ours. */
private[dataframe] final class SparksBatches(batches: RDD[CachedBatch])
    extends RDD[CachedBatch](batches) {

  override protected def getPartitions: Array[Partition] = firstParent[CachedBatch].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    firstParent[CachedBatch].iterator(split, context)
}

/**
 * Cached batches for a reader: from their block, or made anew where the pool has damaged that. Those
 * that are new have not been filtered, which Spark's own operators repeat.
 *
 * @param filled what the block was made of
 * @param cached id of the RDD that is persisted
 */
private[dataframe] final class SoundBatches(
    input: RDD[CachedBatch],
    filled: FilledBatches[_],
    cached: Int)
    extends RDD[CachedBatch](input) {

  override protected def getPartitions: Array[Partition] = firstParent[CachedBatch].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[CachedBatch] =
    SoundBlocks.read(cached, split.index, context) {
      firstParent[CachedBatch].iterator(split, context)
    } {
      filled.iterator(split, context)
    }
}

private[dataframe] object SoundBatches {

  /** The batches that Spark hands over to be read, which are ours. */
  def of(batches: RDD[CachedBatch]): RDD[CachedBatch] = {
    val lineage = Iterator.iterate[Option[RDD[_]]](Some(batches))(_.flatMap(parent))
      .takeWhile(_.isDefined).flatten.toSeq
    val sound = for {
      cached <- lineage.find(_.getStorageLevel != StorageLevel.NONE)
      filled <- lineage.collectFirst { case filled: FilledBatches[_] => filled }
    } yield new SoundBatches(batches, filled, cached.id)
    sound.getOrElse(batches)
  }

  /** What an RDD is made of partition by partition. */
  private def parent(rdd: RDD[_]): Option[RDD[_]] = (rdd, rdd.dependencies) match {
    case (_: FilledBatches[_], _) => None
    case (_, Seq(one: OneToOneDependency[_])) => Some(one.rdd)
    case _ => None
  }
}

/**
 * What a task makes for a block. Spark keeps the block once it has seen the last element: where the task
 * ends before that, nobody has them.
 *
 * @param isKept whether it is for a block; else nobody has them when the task has ended
 */
private[spark] final class TaskBlock[T](
    elements: Iterator[T],
    context: TaskContext,
    isKept: Boolean = true)
    extends Iterator[T] {
  private val made = TaskBlock.closedBy(context)

  override def hasNext: Boolean = {
    val hasMore = elements.hasNext
    if (!hasMore && isKept) made.keep()
    hasMore
  }

  override def next(): T = {
    val element = elements.next()
    element match {
      case owner: AutoCloseable => made.add(owner)
      case _ =>
    }
    element
  }
}

private object TaskBlock {

  /** Elements that nobody has yet, to be closed when the task ends, which holds nothing else by that. */
  private def closedBy(context: TaskContext): Made = {
    val made = new Made
    context.addTaskCompletionListener[Unit](_ => made.close())
    made
  }

  private final class Made extends AutoCloseable {
    // What is garbage closes itself, and may be large.
    private val elements = ArrayBuffer.empty[WeakReference[AutoCloseable]]

    def add(element: AutoCloseable): Unit = synchronized {
      elements += new WeakReference(element)
    }

    /** Somebody has them all. */
    def keep(): Unit = synchronized(elements.clear())

    override def close(): Unit = synchronized {
      elements.foreach(one => Option(one.get).foreach(_.close()))
      elements.clear()
    }
  }
}

private[spark] object FilledBatches {

  /** Whether these are our batches, perhaps filtered, rather than those of Spark's serializer. */
  def areIn(batches: RDD[_]): Boolean = batches match {
    case _: FilledBatches[_] => true
    case _: SparksBatches => false
    case other =>
      other.dependencies match {
        case Seq(parent: NarrowDependency[_]) => areIn(parent.rdd)
        case _ => false
      }
  }

  /** Whether this is a batch of ours. */
  def isOurs(batch: CachedBatch): Boolean = batch match {
    case _: VectorBatch | _: RowBatch => true
    case _ => false
  }
}
