package io.oap.tpcds.cluster

import io.oap.spark.{ChunkInPool, HeldByExecutor}

/** What all pools of an application hold, and how well it is divided. */
final case class Held(executors: Map[String, HeldByExecutor]) {

  /** Bytes of chunks in each pool, by executor. */
  def bytes: Map[String, Long] = executors.map { case (id, held) => id -> held.chunks.values.sum }

  /** Bytes in all pools, each copy of a chunk counted. */
  def totalBytes: Long = bytes.values.sum

  /** Each chunk that any pool holds, once. */
  def distinct: Map[ChunkInPool, Long] = executors.values.flatMap(_.chunks).toMap

  /** What share of all cached bytes are second and further copies. */
  def heldTwice: Double =
    if (totalBytes == 0) 0 else (totalBytes - distinct.values.sum).toDouble / totalBytes

  /** Bytes of second and further copies, by the name of the table's folder. */
  def copiesByTable: Map[String, Long] = {
    val copies = executors.values.toSeq.flatMap(_.chunks.toSeq).groupMap(_._1)(_._2)
    copies.toSeq.collect {
      case (chunk, bytes) if bytes.length > 1 =>
        Held.tableOf(chunk) -> bytes.drop(1).sum
    }.groupMapReduce(_._1)(_._2)(_ + _)
  }

  /** The fullest pool over the mean of all. */
  def maxOverMean: Double =
    if (totalBytes == 0) 1 else bytes.values.max.toDouble * bytes.size / totalBytes

  /** Capacity that a pool needs for all of it: chunks take whole units of memory. */
  def neededBytes: Long =
    distinct.values.map(bytes => (bytes + Held.Unit - 1) / Held.Unit).sum * Held.Unit

  /**
   * Bytes that executors other than `lost` held before and no longer hold now, among those that
   * were there then.
   */
  def givenUpSince(before: Held, lost: String): Long = {
    for {
      (id, former) <- before.executors.toSeq if id != lost
      now = executors.get(id).fold(Map.empty[ChunkInPool, Long])(_.chunks)
      (chunk, bytes) <- former.chunks if !now.contains(chunk)
    } yield bytes
  }.sum
}

object Held {
  // The pool gives memory in units of this many bytes.
  private val Unit = 64

  private def tableOf(chunk: ChunkInPool): String =
    chunk.path.split('/').dropRight(1).lastOption.getOrElse("unknown")
}
