package io.oap.spark.dataframe

import scala.util.control.NonFatal

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

import io.oap.cache.DamagedChunkException
import io.oap.cache.vector.VectorException
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.internals.CachedBlocks

/**
 * Blocks of cached DataFrames and RDDs whose chunks the pool may have damaged. They are lost as those
 * of an executor that has died: Spark removes them, and computes their rows again.
 */
private[spark] object SoundBlocks extends Logging {

  /**
   * Partitions of persisted RDDs whose blocks failed a task of this process by damage. Few at a time:
   * a partition that is forgotten costs a task another try.
   */
  private val failing: Cache[(Int, Int), java.lang.Boolean] =
    CacheBuilder.newBuilder().maximumSize(1000).build()

  /**
   * Gives the elements of a block, or those that a task is to compute anew where the block is
   * damaged. Where it turns out to be only while it is read, the task fails. When it is tried again
   * in this process it computes them, as the block may still be there: another executor removes it
   * only when no task reads it.
   *
   * @param rdd id of the one that is persisted
   */
  def read[T](rdd: Int, partition: Int, context: TaskContext)(
      block: => Iterator[T])(anew: => Iterator[T]): Iterator[T] = {
    context.addTaskFailureListener { (_, error) =>
      if (isDamage(error)) {
        failing.put((rdd, partition), true)
        remove(rdd, partition)
      }
    }
    val failedBefore = context.attemptNumber() > 0 && failing.getIfPresent((rdd, partition)) != null
    val isDamagedHere = isDamaged(rdd, partition)
    if (isDamagedHere) remove(rdd, partition)
    if (failedBefore || isDamagedHere) new TaskBlock(anew, context, isKept = false) else block
  }

  private def isDamaged(rdd: Int, partition: Int): Boolean =
    ExecutorCache.get().exists(_.owned.areInDoubt) && !CachedBlocks.allMatch(
      rdd,
      partition,
      {
        case owner: ChunkOwner => owner.isSound
        case _ => true
      })

  private def isDamage(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(20).exists {
      case _: DamagedChunkException => true
      case vector: VectorException => vector.isCorrupt
      case _ => false
    }

  private def remove(rdd: Int, partition: Int): Unit = {
    logWarning(
      s"Partition $partition of the cached RDD $rdd is damaged in the pool; Spark computes " +
        "it again.")
    ExecutorCache.get().foreach(_.owned.doubt())
    try CachedBlocks.remove(rdd, partition)
    catch {
      case NonFatal(e) => logWarning("The damaged block stays, and is passed over", e)
    }
  }
}
