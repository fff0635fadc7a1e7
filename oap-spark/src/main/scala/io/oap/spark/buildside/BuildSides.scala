package io.oap.spark.buildside

import java.lang.ref.WeakReference
import java.util.Optional

import org.apache.spark.{ShuffleDependency, SparkContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerApplicationEnd,
  SparkListenerUnpersistRDD
}
import org.apache.spark.sql.catalyst.InternalRow

import io.oap.common.OapConfig
import io.oap.spark.framescan.CachedRows
import io.oap.spark.internals.{PerSparkContext, Shuffles, SparkInternals}

/**
 * The relation of a broadcast, ready to be joined with.
 *
 * @param rows how many it was built from
 * @param bytes what Spark takes for its size
 */
private[spark] final case class BuildSide(broadcast: Broadcast[Any], rows: Long, bytes: Long)
    extends KeptSide {
  override def isValid: Boolean = SparkInternals.isValid(broadcast)
}

/**
 * What the tasks before a shuffle have written on the disks of their executors.
 *
 * @param dependency by which tasks after the shuffle read it
 * @param writers the tasks that have written it
 * @param statistics what Spark knows of its partitions, `MapOutputStatistics`
 * @param rows how many were shuffled
 * @param rowBytes what Spark takes for the size of the rows
 * @param bytes of the files
 */
private[spark] final case class ShuffledSide(
    dependency: ShuffleDependency[Int, InternalRow, InternalRow],
    writers: java.util.List[java.lang.Long],
    statistics: Any,
    rows: Long,
    rowBytes: Long,
    bytes: Long)
    extends KeptSide {

  /**
   * What is lost of it Spark would have written again as the earlier query planned it, with its listing of
   * files and its credentials. A query that knows of the loss plans itself.
   */
  override def isValid: Boolean = Shuffles.writers(dependency) == Optional.of(writers)
}

/** The sides of joins that an application keeps from query to query. Thread-safe. */
private[spark] final class BuildSides private (
    val broadcasts: KeptSides[BuildSide],
    val shuffles: KeptSides[ShuffledSide]) {

  /** Forgets all of them, and those that are about to be kept. */
  def clear(): Unit = {
    broadcasts.clear()
    shuffles.clear()
  }

  def figures: Seq[BuildSideFigures] = Seq(broadcasts.figures, shuffles.figures)

  private def forget(rows: CachedRows): Unit = {
    broadcasts.forget(rows)
    shuffles.forget(rows)
  }
}

private[spark] object BuildSides {

  /** About what a broadcast and its blocks take beside the relation. */
  private val BroadcastBytes = 16L << 10

  /** What a shuffle takes beside its files: its plan of reading, perhaps with the session that made it. */
  val ShuffleBytes: Long = 16L << 20

  /** One shuffle may have this part of what all may have, so that it does not drive out all others. */
  private val ShufflePart = 8

  private val all = new PerSparkContext(begin)

  /** Returns the sides of an application. */
  def of(context: SparkContext): BuildSides = all.of(context)

  private def begin(context: SparkContext): BuildSides = {
    val conf = SparkInternals.confOf(context)
    // A context that nobody has stopped is reachable for as long as its sides are.
    val weak = new WeakReference(context)
    def isServed(key: BuildSideKey) = Option(weak.get).exists { running =>
      !running.isStopped && key.frames.forall(rows =>
        running.getPersistentRDDs.contains(rows.rdd))
    }
    val broadcastBytes = OapConfig.BUILDSIDES_MAX_SIZE.get(conf.getOption(_).orNull)
    val shuffleBytes = OapConfig.BUILDSIDES_MAX_SHUFFLE_SIZE.get(conf.getOption(_).orNull)
    val sides = new BuildSides(
      new KeptSides("broadcast", broadcastBytes, Long.MaxValue, BroadcastBytes, isServed),
      new KeptSides("shuffle", shuffleBytes, shuffleBytes / ShufflePart, ShuffleBytes, isServed)
    )
    PerSparkContext.listen(context)(new SparkListener {
      override def onUnpersistRDD(gone: SparkListenerUnpersistRDD): Unit =
        sides.forget(CachedRows(gone.rddId))

      // A shuffle refers to its context, which is not reachable any more otherwise.
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = sides.clear()
    })
    sides
  }
}
