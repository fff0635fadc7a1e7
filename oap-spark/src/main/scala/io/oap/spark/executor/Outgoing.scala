package io.oap.spark.executor

import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.common.{ChunkKey, EntryKind, OapConfig}
import io.oap.spark.internals.SparkInternals
import io.oap.spark.rpc.BlockTransfer

/**
 * What this executor is to hand to others, in parts that fit into its heap: first what is pinned,
 * then what was asked for most. Thread-safe.
 */
private final class Outgoing(val cache: ColumnCache) {

  /** For each receiver that still gets any, what that is, in order; asks stand for its worth. */
  private val queues = mutable.HashMap.empty[String, mutable.Queue[HeldKey]]
  private val partsOf = mutable.HashMap.empty[String, Int].withDefaultValue(0)

  /** Has a receiver get these, in place of what still waits for it. */
  def deal(receiver: String, chunks: Iterable[HeldKey]): Unit = synchronized {
    queues(receiver) = mutable.Queue.from(chunks)
  }

  /** Gives a receiver nothing any more. */
  def refuse(receiver: String): Unit = synchronized(forget(receiver))

  private def forget(receiver: String): Unit = {
    queues -= receiver
    partsOf -= receiver
  }

  /** Who still gets any. */
  def receivers: Set[String] = synchronized(queues.keySet.toSet)

  /** The next part that has anything in it. */
  @scala.annotation.tailrec
  def next(): Option[HandedPart] = nextChunks() match {
    case None => None
    case Some((receiver, chunks)) =>
      val part = cache.handed.pack(chunks.asJava)
      if (part.hasRemaining)
        Some(HandedPart(receiver, BlockTransfer.offer(SparkEnv.get, part)))
      else next()
  }

  /** The receiver whose next chunk is worth most, and some chunks for it. */
  private def nextChunks(): Option[(String, Seq[HeldKey])] = synchronized {
    queues.toSeq.maxByOption { case (receiver, queue) =>
      (queue.head.asks, -partsOf(receiver), receiver)
    }.map { case (receiver, queue) =>
      partsOf(receiver) += 1
      val chunks = ArrayBuffer.empty[HeldKey]
      var bytes = 0L
      while (queue.nonEmpty && (chunks.isEmpty || bytes + queue.head.bytes <= Outgoing.PartBytes)) {
        val chunk = queue.dequeue()
        chunks += chunk
        bytes += chunk.bytes
      }
      if (queue.isEmpty) forget(receiver)
      receiver -> chunks.toSeq
    }
  }
}

private object Outgoing extends Logging {

  /** Of these, some are in the heaps of both sides at a time. */
  private val PartBytes = 8L << 20

  /** Larger ones are read from files again. */
  private val MostChunkBytes = 64L << 20

  /** Once so large a part of a pool has come from one executor, the rest takes free room only. */
  private val MostDisplacedPart = 2

  private val FetchMillis = 5000L

  private val current = new AtomicReference[Outgoing]()

  /** Sees to it that there is time to hand anything over, should this executor be decommissioned. */
  def prepare(environment: SparkEnv): Unit = {
    val millis = handOverMillis(environment)
    if (millis > 0 && SparkInternals.mayDecommission(environment.conf))
      SparkInternals.stayWhenDecommissioned(environment, millis)
  }

  private def handOverMillis(environment: SparkEnv): Long =
    OapConfig.CACHE_HAND_OVER.get(environment.conf.getOption(_).orNull)

  /** Begins to hand over what the driver has dealt out; returns how many bytes that is. */
  def begin(cache: ColumnCache, deal: HandOver): Long = {
    val receivers = deal.files.indices.map { i =>
      (deal.files(i), deal.rowGroups(i)) -> deal.receivers(deal.to(i))
    }.toMap
    val wanted = deal.files.toSet
    val files = cache.files.where(file => wanted(file.identity.placementKey)).asScala
    val chunks = for {
      held <- cache.snapshot().chunks.asScala.toSeq
      if isColumnChunk(held.key) && held.bytes <= MostChunkBytes
      file <- files.get(held.key.file)
      receiver <- receivers.get((file.identity.placementKey, held.key.rowGroup))
    } yield receiver -> new HeldKey(held.key, held.bytes, worth(cache, held))
    // Others may be handed what was dealt to them before.
    val outgoing = current.updateAndGet(now =>
      if (now != null && (now.cache eq cache)) now else new Outgoing(cache))
    for ((receiver, some) <- chunks.groupMap(_._1)(_._2))
      outgoing.deal(receiver, some.sortBy(-_.asks))
    val bytes = chunks.map(_._2.bytes).sum
    logInfo(s"$bytes bytes of this executor's column cache are to be handed to others")
    bytes
  }

  /** Returns the next part, after what came of the last one. */
  def next(last: Option[HandedPart], refusing: Option[String]): Option[HandedPart] = {
    last.foreach(part => BlockTransfer.withdraw(SparkEnv.get, part.offer))
    Option(current.get).flatMap { outgoing =>
      refusing.foreach(outgoing.refuse)
      outgoing.next()
    }
  }

  /**
   * Takes what another executor hands over; returns how many bytes this one has of it then.
   *
   * @param before bytes that it has taken of the same hand-over
   */
  def take(cache: ColumnCache, part: HandedPart, before: Long): Long = {
    val mayDisplace = before < cache.poolStats().capacityBytes / MostDisplacedPart
    val bytes = BlockTransfer.fetch(SparkEnv.get, part.offer, FetchMillis)
    cache.handed.unpack(bytes, mayDisplace).bytes
  }

  private def isColumnChunk(key: ChunkKey): Boolean =
    try key.kind != EntryKind.CACHED_BATCH
    catch { case NonFatal(_) => false }

  private def worth(cache: ColumnCache, chunk: HeldKey): Int =
    if (cache.kept.isKept(chunk.key)) Int.MaxValue else chunk.asks
}
