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
 * are asked what they have of these, and some copy what others hold. The executor that takes the
 * place of one that has died copies what is left of that one's. Nothing waits for it.
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

  /** The pools that executors have, by `LiveExecutor.name`. */
  private var seen = Set.empty[String]

  /** Pools that have come since the last work. */
  private var newcomers = Set.empty[String]
  private var pause = LeastPause
  private var due = nanoTime()
  private var isAtWork = false

  /** By pool, what was told last: it counts when a later question is not answered in time. */
  private var told = Map.empty[String, HotRowGroups]

  /** Bytes that were to be copied in the round before. */
  private var missingBefore = 0L

  /** Row groups that were to be copied then, by `Hash64.pieceKey`. */
  private var triedLast = Set.empty[Long]

  /** Where copies are to be since the last round. */
  private var kept = Seq.empty[Kept]

  /** Begins what is due; called some times in a second. */
  def check(): Unit = {
    val pools = directory.snapshot()._2.filter(_.capacityBytes > 0).map(_.name).toSet
    // What leaves or has just come is copied first: it is lost for certain, or asked for now.
    val isFree = !handOvers.isUnderWay
    val begins = synchronized {
      if (pools != seen) changed(pools)
      val begins = !isAtWork && isFree && (newcomers.nonEmpty || nanoTime() >= due)
      isAtWork ||= begins
      begins
    }
    if (begins) thread.execute(() => work())
  }

  private def changed(pools: Set[String]): Unit = {
    val come = pools -- seen
    // Copies of what was lost are to be found by whoever takes its place, for some time.
    if (!seen.subsetOf(pools)) due = nanoTime() + ReplacedTime.toNanos
    if (come.nonEmpty) due = math.min(due, nanoTime() + LeastPause.toNanos)
    pause = LeastPause
    newcomers = (newcomers ++ come).intersect(pools)
    seen = pools
  }

  private[cluster] def isAtWorkNow: Boolean = synchronized(isAtWork)

  private def work(): Unit =
    try {
      val come = synchronized {
        val come = newcomers
        newcomers = Set.empty
        come
      }
      if (come.nonEmpty && restore(come)) synchronized {
        // By then they have reported what they have.
        due = math.max(due, nanoTime() + LeastPause.toNanos)
      }
      if (synchronized(nanoTime() >= due)) tryRound()
    } catch {
      case NonFatal(e) => logWarning("What is left of a lost executor's is not copied", e)
    } finally synchronized { isAtWork = false }

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
        // It may be later if an executor was lost meanwhile.
        due = math.max(due, nanoTime() + pause.toNanos)
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
      ask(
        one.id,
        TellHottest(bytes, most),
        AnswerTime).orElse(told.get(one.name)).map(one.name -> _)
    }.toMap
    val alone = new HeldAlone(directory, known)
    val hot = asked.flatMap(i => told.get(live(i).name).toSeq.flatMap(alone.of(_, i)))
    val pools = live.indices.map(i =>
      if (asked.contains(i)) live(i) else live(i).copy(capacityBytes = 0)).toArray
    val askedFor = (e: Int, asks: Double) =>
      told.get(live(e).name).fold(live(e).usedBytes)(_.bytesAskedFor(asks))
    val chosen = ReplicaPlan.of(hot, pools, share, askedFor).take(MostKept)
    // At once, so that no plan sends tasks to them meanwhile.
    directory.keepReplicas(ReplicaPlan.keepers(chosen, known(_)))
    kept = chosen.map { case (one, keeper) => Kept(one, live(one.holder).name, live(keeper).name) }
    val missing = chosen.filterNot(_._1.isCopied)
    copy(missing, live)
    missing.map(_._1.bytes).sum
  }

  /**
   * Has executors that have come copy what others keep of those that were lost, each of one of
   * them, and remembers that, so that plans send tasks there as soon as they have it. The copies
   * stay.
   *
   * @return whether there is anything of that
   */
  private def restore(come: Set[String]): Boolean = {
    val (known, live) = directory.snapshot()
    val index = live.indices.map(i => live(i).name -> i).toMap
    val lost = kept.map(_.holder).distinct.filterNot(index.contains).sorted
    // A shared pool that was without executors for some time has what it had.
    val old = kept.flatMap(one => Seq(one.holder, one.keeper)).toSet
    val places = lost.zip((come.intersect(index.keySet) -- old).toSeq.sorted).toMap
    val dealt = for {
      Kept(one, holder, keeper) <- kept
      to <- places.get(holder).map(index)
      from <- index.get(keeper)
    } yield {
      directory.settle(one.key, known(to), one.bytes)
      Dealt(one, from, to)
    }
    for ((before, now) <- places)
      logInfo(
        s"Executor ${live(index(now)).id} is to copy what others keep of column cache $before")
    copyAll(dealt, live)
    kept = kept.map(one => places.get(one.holder).fold(one)(now => one.copy(holder = now)))
    dealt.nonEmpty
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
    copyAll(some.map { case (one, keeper) => Dealt(one, one.holder, keeper) }, live)
  }

  private def copyAll(dealt: Seq[Dealt], live: Array[LiveExecutor]): Unit = {
    val deals = dealt.groupBy(_.from).map { case (from, ofOne) =>
      live(from).id -> HandOver(
        live.map(_.id),
        ofOne.map(_.rowGroup.file).toArray,
        ofOne.map(_.rowGroup.rowGroup).toArray,
        ofOne.map(_.to).toArray)
    }
    val copies = deals.map { case (from, deal) =>
      (() => handOvers.copy(from, deal)): Callable[Unit]
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

  /**
   * A row group that has, or is to have, a second copy.
   *
   * @param holder name of the pool that held it alone
   * @param keeper name of the one that is to have the copy
   */
  private final case class Kept(rowGroup: HotRowGroup, holder: String, keeper: String)

  /** A row group that one executor is to hand to another, by index. */
  private final case class Dealt(rowGroup: HotRowGroup, from: Int, to: Int)

  /** So long at least do executors rest after a round. */
  private val LeastPause = 10.seconds
  private val MostPause = 5.minutes

  /** So long may it take until another executor takes the place of one that was lost. */
  private val ReplacedTime = 1.minute

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
