package io.oap.spark.cluster

import java.util.concurrent.Callable

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkConf
import org.apache.spark.internal.Logging

import io.oap.common.{OapConfig, PoolShare}
import io.oap.spark.directory.Directory
import io.oap.spark.executor.{HandOver, HotRowGroups, TellHottest}
import io.oap.spark.placement.LiveExecutor
import io.oap.spark.rpc.Background

/**
 * Keeps second copies of the row groups that are asked for most and that one executor holds alone,
 * so that they need not be read from files when it dies without notice. Now and then the executors
 * are asked what they have of these, and some copy what others hold. Nothing waits for it.
 *
 * @param share how much of each pool the copies may have
 * @param ask has an executor answer; nothing where it does not, or has no pool
 * @param isReachable whether an executor can be asked
 * @param nanoTime a clock as `System.nanoTime`
 */
private final class Replicas(
    directory: Directory,
    share: PoolShare,
    handOvers: HandOvers,
    ask: HandOvers.Ask,
    isReachable: String => Boolean,
    nanoTime: () => Long = () => System.nanoTime())
    extends Logging {
  import Replicas._

  private val thread = Background.thread("oap-replicas", mostWaiting = 1)
  private val copying = Background.threads("oap-replica-%d", AtATime)

  private var seen = Set.empty[String]
  private var pause = LeastPause
  private var due = nanoTime()
  private var isInRound = false

  /** By executor, what it told last: it counts when a later question is not answered in time. */
  private var told = Map.empty[String, HotRowGroups]

  /** Bytes that were to be copied in the round before. */
  private var missingBefore = 0L

  /** Row groups that were to be copied then, by `Hash64.pieceKey`. */
  private var triedLast = Set.empty[Long]

  /** Begins a round if one is due; called some times in a second. */
  def check(): Unit = {
    // What leaves or has just come is copied first: it is lost for certain, or asked for now.
    val begins = !handOvers.mayBeUnderWay && synchronized {
      val ids = directory.executorIds
      if (ids != seen) {
        seen = ids
        pause = LeastPause
        due = math.min(due, nanoTime() + pause.toNanos)
      }
      val begins = !isInRound && nanoTime() >= due
      isInRound ||= begins
      begins
    }
    if (begins) thread.execute(() => tryRound())
  }

  private[cluster] def isInRoundNow: Boolean = synchronized(isInRound)

  private def tryRound(): Unit = {
    var missing = 0L
    try missing = round()
    catch {
      case NonFatal(e) => logWarning("Second copies are not made for now", e)
    } finally synchronized {
        // Where all is copied, or full pools refuse the rest, it is enough to look seldom.
        val isOfUse = missing > 0 && (missingBefore == 0 || missing < Progress * missingBefore)
        pause = if (isOfUse) LeastPause else (pause * 2).min(MostPause)
        missingBefore = missing
        due = nanoTime() + pause.toNanos
        isInRound = false
      }
  }

  /**
   * Decides anew which row groups have second copies, and has those copied that are not there.
   *
   * @return how many bytes were not there before it
   */
  private[cluster] def round(): Long = {
    val (known, live) = directory.snapshot()
    val asked = live.indices.filter(i => live(i).capacityBytes > 0 && isReachable(live(i).id))
    val most = MostListed.min(MostOfAll / math.max(asked.length, 1))
    told = asked.map(live(_)).flatMap { one =>
      val bytes = math.min(ListedShares * share.of(one.capacityBytes), one.capacityBytes)
      ask(one.id, TellHottest(bytes, most), AnswerTime).orElse(told.get(one.id)).map(one.id -> _)
    }.toMap
    val alone = new HeldAlone(directory, known)
    val hot = asked.flatMap(i => told.get(live(i).id).toSeq.flatMap(alone.of(_, i)))
    val pools = live.indices.map(i =>
      if (asked.contains(i)) live(i) else live(i).copy(capacityBytes = 0)).toArray
    val chosen = ReplicaPlan.of(hot, pools, share).take(MostKept)
    // At once, so that no plan sends tasks to them meanwhile.
    directory.keepReplicas(ReplicaPlan.keepers(chosen, known(_)))
    val missing = chosen.filterNot(_._1.isCopied)
    copy(missing, live)
    missing.map(_._1.bytes).sum
  }

  private def copy(missing: Seq[(HotRowGroup, Int)], live: Array[LiveExecutor]): Unit = {
    val bytes = new Array[Long](live.length)
    // What was refused has its turn again after what was not tried yet.
    val some = missing.sortBy(one => triedLast(one._1.key)).filter { case (one, keeper) =>
      val before = bytes(keeper)
      bytes(keeper) += one.bytes
      before < MostBytes
    }
    triedLast = some.map(_._1.key).toSet
    val deals = some.groupBy(_._1.holder).map { case (holder, ofOne) =>
      live(holder).id -> HandOver(
        live.map(_.id),
        ofOne.map(_._1.file).toArray,
        ofOne.map(_._1.rowGroup).toArray,
        ofOne.map(_._2).toArray)
    }
    val copies = deals.map { case (holder, deal) =>
      (() => handOvers.copy(holder, deal)): Callable[Unit]
    }
    copying.invokeAll(copies.asJavaCollection): Unit
  }
}

private object Replicas {

  /** The copies that a configuration asks for. */
  def share(conf: SparkConf): Option[PoolShare] = {
    val share = OapConfig.CACHE_REPLICAS.get(conf.getOption(_).orNull)
    Option.when(share.isPresent)(share.get)
  }

  /** So long at least do executors rest after a round. */
  private val LeastPause = 10.seconds
  private val MostPause = 5.minutes

  /** Once less than this part of what was missing before has still to come, copying is of use. */
  private val Progress = 0.9

  private val AnswerTime = 10.seconds

  /** So many executors hand over at a time, one part each. */
  private val AtATime = 4

  /** Once an executor is to take so much in a round, what is left has to wait for the next one. */
  private val MostBytes = 256L << 20

  /** Hot row groups may lie in some pools rather than others, and copies are told of, too. */
  private val ListedShares = 4

  /** Bound of a message's size. */
  private val MostListed = 10000

  /** Bound of what the driver has of it all in a round. */
  private val MostOfAll = 1 << 20

  /** Bound of what it keeps from round to round. */
  private val MostKept = 1 << 18
}
