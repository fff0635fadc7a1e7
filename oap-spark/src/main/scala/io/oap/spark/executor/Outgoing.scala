package io.oap.spark.executor

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.pool.PoolSnapshot
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.common.{ChunkKey, EntryKind, OapConfig}
import io.oap.spark.internals.SparkInternals
import io.oap.spark.rpc.BlockTransfer

/**
 * What this executor is to hand to others, in parts that fit into its heap: first what is pinned,
 * then what was asked for most. Thread-safe.
 */
private final class Outgoing(val cache: ColumnCache) {

  /** By receiver that still gets any. */
  private val waiting = mutable.HashMap.empty[String, Outgoing.Waiting]

  /** Has a hand-over give these to a receiver, in place of what still waits for it. */
  def deal(handOver: Long, receiver: String, chunks: Iterable[HeldKey]): Unit = synchronized {
    waiting(receiver) = new Outgoing.Waiting(handOver, mutable.Queue.from(chunks))
  }

  /** Takes note that a receiver has taken a part of a hand-over, and may get several at a time. */
  def taken(handOver: Long, receiver: String): Unit = synchronized {
    returned(handOver, receiver).foreach(_.hasTaken = true)
  }

  /** Takes note that a part is under way no more. */
  private def returned(handOver: Long, receiver: String): Option[Outgoing.Waiting] =
    synchronized {
      val some = waiting.get(receiver).filter(_.handOver == handOver)
      some.foreach(_.underWay -= 1)
      some
    }

  /** Gives a receiver nothing more of a hand-over. */
  def refuse(handOver: Long, receiver: String): Unit = synchronized {
    if (waiting.get(receiver).exists(_.handOver == handOver)) waiting -= receiver
  }

  /** Gives nobody anything more of a hand-over. */
  def end(handOver: Long): Unit = synchronized {
    waiting.filterInPlace((_, some) => some.handOver != handOver)
  }

  /** Who still gets any. */
  def receivers: Set[String] = synchronized(waiting.keySet.toSet)

  /**
   * The next part of a hand-over that has anything in it. Nothing also while all that waits is for
   * receivers that have taken nothing yet, and have a part under way: they may stand still.
   */
  @scala.annotation.tailrec
  def next(handOver: Long): Option[HandedPart] = nextChunks(handOver) match {
    case None => None
    case Some((receiver, chunks)) =>
      var offer = Option.empty[BlockTransfer.Offer]
      try {
        val part = cache.handed.pack(chunks.asJava)
        offer = Option.when(part.hasRemaining)(BlockTransfer.offer(SparkEnv.get, part))
      } finally if (offer.isEmpty) returned(handOver, receiver): Unit
      if (offer.isDefined) Some(HandedPart(receiver, offer.get))
      else next(handOver)
  }

  /**
   * Of the receivers with the fewest parts under way, the one whose next chunk is worth most, and
   * some chunks for it.
   */
  private def nextChunks(handOver: Long): Option[(String, Seq[HeldKey])] = synchronized {
    waiting.toSeq.filter(_._2.isOpen(handOver)).maxByOption { case (receiver, some) =>
      (-some.underWay, some.chunks.head.asks, -some.parts, receiver)
    }.map { case (receiver, some) =>
      val queue = some.chunks
      some.parts += 1
      some.underWay += 1
      val chunks = ArrayBuffer.empty[HeldKey]
      var bytes = 0L
      while (queue.nonEmpty && (chunks.isEmpty || bytes + queue.head.bytes <= Outgoing.PartBytes)) {
        val chunk = queue.dequeue()
        chunks += chunk
        bytes += chunk.bytes
      }
      if (queue.isEmpty) waiting -= receiver
      receiver -> chunks.toSeq
    }
  }
}

private object Outgoing extends Logging {

  /**
   * What waits for one receiver.
   *
   * @param handOver what it is part of
   * @param chunks in order, never empty; asks stand for their worth
   */
  private final class Waiting(val handOver: Long, val chunks: mutable.Queue[HeldKey]) {

    /** So many parts were given out. */
    var parts = 0

    /** Of these it has taken or refused all but so many. */
    var underWay = 0

    /** Whether it has taken anything. */
    var hasTaken = false

    /** Whether the next part can be given out. */
    def isOpen(of: Long): Boolean = handOver == of && (hasTaken || underWay == 0)
  }

  /** Of these, some are in the heaps of both sides at a time. */
  private val PartBytes = 8L << 20

  /** Larger ones are read from files again. */
  private val MostChunkBytes = 64L << 20

  /** Once so large a part of a pool has come from one executor, the rest takes free room only. */
  private val MostDisplacedPart = 2

  private val FetchMillis = 5000L

  private val current = new AtomicReference[Outgoing]()

  private val begun = new AtomicLong

  /** Sees to it that there is time to hand anything over, should this executor be decommissioned. */
  def prepare(environment: SparkEnv): Unit = {
    val millis = handOverMillis(environment)
    if (millis > 0 && SparkInternals.mayDecommission(environment.conf))
      SparkInternals.stayWhenDecommissioned(environment, millis)
  }

  private def handOverMillis(environment: SparkEnv): Long =
    OapConfig.CACHE_HAND_OVER.get(environment.conf.getOption(_).orNull)

  /** Begins to hand over what the driver has dealt out. */
  def begin(cache: ColumnCache, deal: HandOver): BegunHandOver = {
    val receivers = deal.files.indices.map { i =>
      (deal.files(i), deal.rowGroups(i)) -> deal.receivers(deal.to(i))
    }.toMap
    val chunks = for {
      (file, held) <- chunksOf(cache, cache.snapshot(), deal.files.toSet)
      receiver <- receivers.get((file, held.key.rowGroup))
    } yield receiver -> held
    // Others may be handed what was dealt to them before.
    val outgoing = current.updateAndGet(now =>
      if (now != null && (now.cache eq cache)) now else new Outgoing(cache))
    val number = begun.incrementAndGet()
    for ((receiver, some) <- chunks.groupMap(_._1)(_._2))
      outgoing.deal(number, receiver, some.sortBy(-_.asks))
    val bytes = chunks.map(_._2.bytes).sum
    logInfo(s"$bytes bytes of this executor's column cache are to be handed to others")
    BegunHandOver(number, bytes)
  }

  /** Returns the next part of a hand-over, after what came of the last one. */
  def next(
      number: Long,
      last: Option[HandedPart],
      refusing: Option[String]): Option[HandedPart] = {
    last.foreach(part => BlockTransfer.withdraw(SparkEnv.get, part.offer))
    Option(current.get).flatMap { outgoing =>
      last.map(_.to).filterNot(refusing.contains).foreach(outgoing.taken(number, _))
      refusing.foreach(outgoing.refuse(number, _))
      outgoing.next(number)
    }
  }

  /** Hands nothing more over of what the driver has dealt out. */
  def end(number: Long, last: HandedPart): Unit = {
    BlockTransfer.withdraw(SparkEnv.get, last.offer)
    Option(current.get).foreach(_.end(number))
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

  /**
   * The chunks of files that can be handed over, each with the key of its file; asks stand for their
   * worth.
   *
   * @param snapshot what the pool holds
   * @param isWanted says it of files, by `FileIdentity.placementKey`
   */
  def chunksOf(
      cache: ColumnCache,
      snapshot: PoolSnapshot,
      isWanted: Long => Boolean): Seq[(Long, HeldKey)] = {
    val files = cache.files.where(file => isWanted(file.identity.placementKey)).asScala
    for {
      held <- snapshot.chunks.asScala.toSeq
      if isColumnChunk(held.key) && held.bytes <= MostChunkBytes
      file <- files.get(held.key.file)
    } yield file.identity.placementKey -> new HeldKey(held.key, held.bytes, worth(cache, held))
  }

  private def isColumnChunk(key: ChunkKey): Boolean =
    try key.kind != EntryKind.CACHED_BATCH
    catch { case NonFatal(_) => false }

  /** How often a chunk of the pool was asked for; the most there is where it leaves for nothing. */
  def worth(cache: ColumnCache, chunk: HeldKey): Int =
    // What is no column chunk is pinned by its owner.
    if (!isColumnChunk(chunk.key) || cache.kept.isKept(chunk.key)) Int.MaxValue else chunk.asks
}
