package io.oap.spark.cluster

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.spark.directory.{Directory, FileChunks, KnownPool, Slots}
import io.oap.spark.executor.HandOver
import io.oap.spark.placement.{Hash64, LiveExecutor, Placement}
import io.oap.spark.rpc.Background

/**
 * Has executors that join others copy their part of what these hold, so that it need not be read
 * from files again. The others keep theirs until they need the room.
 *
 * @param isReachable whether an executor can be asked
 */
private final class Newcomers(
    directory: Directory,
    handOvers: HandOvers,
    isReachable: String => Boolean)
    extends Logging {
  private val thread = Background.thread("oap-newcomers", Newcomers.MostWaiting)

  /** An executor has opened its pool. */
  def opened(id: String): Unit = if (directory.takeNewcomer(id)) thread.execute(() => deal(id))

  private def deal(id: String): Unit =
    try
      for ((holder, deal) <- Newcomers.partOf(directory, id) if isReachable(holder))
        handOvers.begin(holder, s"Executor $id is new", stays = None)(Some(deal))
    catch {
      case NonFatal(e) => logWarning(s"Executor $id gets nothing of what the others hold", e)
    }
}

private object Newcomers {
  private val MostWaiting = 1000

  private final case class Dealt(
      holder: String,
      file: Long,
      rowGroup: Int,
      position: Long,
      bytes: Long)

  /**
   * Deals a newcomer the row groups that the hash would give it if nobody held anything, and
   * remembers that, so that plans send their tasks there as soon as they are copied. The hash is of
   * all row groups and executors: plans, which wait for the Directory, do not wait for it.
   *
   * @param byHash says of executors to which a piece belongs
   * @return by the executor that is to hand them over, the one that holds most of each
   */
  def partOf(
      directory: Directory,
      newcomer: String,
      byHash: Array[LiveExecutor] => Long => Int = Placement.byHash): Map[String, HandOver] = {
    val (known, live) = directory.snapshot()
    val own = live.indexWhere(_.members.exists(_.id == newcomer))
    val place = byHash(live)
    val dealt = ArrayBuffer.empty[Dealt]
    if (own >= 0) directory.foreachLayout { (key, file) =>
      import file.{position, starts}
      val itsOwn = starts.indices.filter(i => place(Hash64.pieceKey(key, position(i))) == own)
      if (itsOwn.nonEmpty) directory.look(key) { (file, slots, _) =>
        for (rowGroup <- itsOwn) {
          val held = heldOf(file, rowGroup, slots)
          for ((pool, bytes) <- held.maxByOption(_._2); holder <- pool.speaker) {
            val missing = bytes - held.getOrElse(known(own), 0L)
            if (missing > 0) dealt += Dealt(holder.id, key, rowGroup, position(rowGroup), missing)
          }
        }
      }
    }
    for (one <- dealt)
      directory.settle(Hash64.pieceKey(one.file, one.position), known(own), one.bytes)
    dealt.groupBy(_.holder).map { case (holder, some) =>
      val all = some.toArray
      holder -> HandOver(
        Array(newcomer),
        all.map(_.file),
        all.map(_.rowGroup),
        new Array[Int](all.length))
    }
  }

  /** Bytes of a row group in each pool that has any. */
  private def heldOf(file: FileChunks, rowGroup: Int, slots: Slots): Map[KnownPool, Long] = {
    val columns = file.columns.names.length
    val chunks = rowGroup * columns until (rowGroup + 1) * columns
    (0 until file.holders).flatMap { holder =>
      val bytes = chunks.filter(file.isHeld(holder, _)).map(file.chunkBytes(_).toLong).sum
      Option(slots.pool(file.slot(holder))).filter(_ => bytes > 0).map(_ -> bytes)
    }.groupMapReduce(_._1)(_._2)(math.max)
  }
}
