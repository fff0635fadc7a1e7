package io.oap.spark.cluster

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.oap.common.PoolShare
import io.oap.spark.placement.{Hash64, LiveExecutor, Placement}

/**
 * A row group that only one executor holds, but for a copy that is kept for its loss.
 *
 * @param holder index of that executor
 * @param key `Hash64.pieceKey`
 * @param bytes what it takes in the pool there
 * @param asks how often it was asked for there
 * @param keeper index of the executor that is to keep the copy so far, or -1
 * @param copiedBytes what that has of these, about
 * @param isCopied whether that is all of it
 */
private final case class HotRowGroup(
    holder: Int,
    key: Long,
    file: Long,
    rowGroup: Int,
    bytes: Long,
    asks: Double,
    keeper: Int,
    copiedBytes: Long,
    isCopied: Boolean)

/**
 * Which row groups are to have a second copy, and where: the hottest, until a share of each pool is
 * used, or all of it that a copy could enter. A pure function.
 */
private object ReplicaPlan {

  /**
   * Asks by which a row group must be ahead of one that is copied, or that is in a full pool: counts
   * of what is as hot differ a little, and copies would come and go.
   */
  private val Lead = 1.0

  /** Pools are tried in the order of the hash; when so many have no room, others will hardly have. */
  private val MostTried = 8

  /**
   * Chooses the executor that the hash gives a row group among all others, which is where a plan
   * would have it read when its holder is gone; on another host than that, if there is one. A copy
   * that is there stays where it is.
   *
   * @param all of equal keys the first one counts
   * @param executors those without a pool get nothing
   * @param askedFor bytes of an executor's pool that were asked for so often or more often
   * @return the index of the executor for each row group that is to have a copy, the hottest first
   */
  def of(
      all: Seq[HotRowGroup],
      executors: Array[LiveExecutor],
      share: PoolShare,
      askedFor: (Int, Double) => Long): Seq[(HotRowGroup, Int)] = {
    val room = executors.map(one => share.of(math.max(one.capacityBytes, 0)))
    val hosts = executors.map(_.host)
    val isOneHost = hosts.distinct.length < 2
    lazy val place = Placement.byHashAmong(executors)
    val entering = new Array[Long](executors.length)
    val chosen = ArrayBuffer.empty[(HotRowGroup, Int)]
    val hottestFirst = all.distinctBy(_.key).sortBy(one =>
      (-one.asks - (if (one.isCopied) Lead else 0), !one.isCopied, Hash64.mix(one.key)))
    for (one <- hottestFirst) {
      def isThere(e: Int) = one.isCopied && e == one.keeper
      def missing(e: Int) = if (e == one.keeper) one.bytes - one.copiedBytes else one.bytes
      def fits(e: Int) = room(e) >= one.bytes && (isThere(e) ||
        askedFor(e, one.asks - Lead) + entering(e) + missing(e) <= executors(e).capacityBytes)
      val may = executors.indices.map { e =>
        e != one.holder && room(e) > 0 && (isOneHost || hosts(e) != hosts(one.holder))
      }.toArray
      var keeper = one.keeper
      if (keeper < 0 || !may(keeper) || !fits(keeper)) keeper = place(one.key, may)
      var tried = 1
      while (keeper >= 0 && !fits(keeper)) {
        may(keeper) = false
        keeper = if (tried < MostTried) place(one.key, may) else -1
        tried += 1
      }
      if (keeper >= 0) {
        room(keeper) -= one.bytes
        if (!isThere(keeper)) entering(keeper) += missing(keeper)
        chosen += one -> keeper
      }
    }
    chosen.toSeq
  }

  /** The keepers by key, as the Directory has them. */
  def keepers[A](chosen: Seq[(HotRowGroup, Int)], executors: Int => A): mutable.LongMap[A] =
    mutable.LongMap.from(chosen.map { case (one, keeper) => one.key -> executors(keeper) })
}
