package io.oap.spark.cluster

import scala.collection.mutable.ArrayBuffer

import io.oap.spark.directory.{Directory, FileChunks, KnownPool}
import io.oap.spark.executor.HandOver
import io.oap.spark.placement.{Hash64, Holding, Placement, PlacementRules, PlacementUnit}

/**
 * Which executors the row groups of one that leaves belong to from now on: where a scan of all that
 * it holds of them would read them.
 *
 * @param isReachable whether an executor of this id can be told anything
 */
private final class HandOverPlan(directory: Directory, isReachable: String => Boolean) {
  private val (known, live) = directory.snapshot()
  private val executors = live.map(one =>
    if (isReachable(one.id)) one else one.copy(waitSeconds = Double.PositiveInfinity))

  /**
   * Deals out what an executor holds and no other does, by its pool, and remembers where it went,
   * for the plans made before reports tell of it.
   *
   * @return nothing where there is none to give it to, or nothing to give
   */
  def of(leaving: String): Option[HandOver] = {
    val rowGroups = ArrayBuffer.empty[Int]
    val pieces = ArrayBuffer.empty[PlacementUnit]
    if (directory.takesPoolAlong(leaving))
      directory.foreachFileOf(leaving) { (key, file, own, poolOf) =>
        for (rowGroup <- file.starts.indices; piece <- piece(key, file, own, rowGroup, poolOf)) {
          rowGroups += rowGroup
          pieces += piece
        }
      }
    val rules = directory.measured(PlacementRules())
    val all = pieces.toArray
    val places = Placement.place(all, executors, rules).executors
    val dealt = all.indices.filter(i => places(i) >= 0 && executors(places(i)).capacityBytes > 0)
    dealt.foreach(i => settle(all(i), places(i)))
    Option.when(dealt.nonEmpty)(HandOver(
      executors.map(_.id),
      dealt.map(all(_).file).toArray,
      dealt.map(rowGroups(_)).toArray,
      dealt.map(places(_)).toArray))
  }

  /** What one holder has of a row group, unless another has all of that. */
  private def piece(
      key: Long,
      file: FileChunks,
      own: Int,
      rowGroup: Int,
      poolOf: Int => KnownPool): Option[PlacementUnit] = {
    val columns = file.columns.names.length
    val chunks = (rowGroup * columns until (rowGroup + 1) * columns).filter(file.isHeld(own, _))
    def bytes(some: Seq[Int]): Long = some.map(file.chunkBytes(_).toLong).sum
    val holdings = for {
      holder <- 0 until file.holders if holder != own
      executor = known.indexOf(poolOf(file.slot(holder))) if executor >= 0
      held = bytes(chunks.filter(file.isHeld(holder, _))) if held > 0
    } yield Holding(executor, held, held)
    val wanted = bytes(chunks)
    Option.when(wanted > 0 && holdings.forall(_.wantedBytes < wanted)) {
      val position = file.position(rowGroup)
      val home = directory.home(Hash64.pieceKey(key, position)).fold(-1)(known.indexOf(_))
      PlacementUnit(key, position, wanted, Holding.ordered(holdings.toArray), home, Array.empty)
    }
  }

  private def settle(piece: PlacementUnit, place: Int): Unit = {
    val held = piece.holdings.find(_.executor == place).fold(0L)(_.wantedBytes)
    val key = Hash64.pieceKey(piece.file, piece.position)
    directory.settle(key, known(place), piece.wantedBytes - held)
  }
}
