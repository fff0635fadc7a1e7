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

  /** Bytes of what an executor holds and no other one does. */
  def bytesAlone(id: String): Long = {
    val others = (executors - id).values.map(_.chunks)
    executors(id).chunks.collect {
      case (chunk, bytes) if !others.exists(_.contains(chunk)) => bytes
    }
      .sum
  }

  /**
   * Bytes that executors held before and `lost` did not, and that none of those who held them holds
   * any more. What one of several has given up is still there.
   */
  def givenUpSince(before: Held, lost: String): Long = {
    def has(held: Held, id: String, chunk: ChunkInPool) =
      held.executors.get(id).exists(_.chunks.contains(chunk))
    before.distinct.collect {
      case (chunk, bytes)
          if !has(before, lost, chunk) &&
            !executors.keys.exists(id => has(before, id, chunk) && has(this, id, chunk)) =>
        bytes
    }.sum
  }
}

object Held {
  // The pool gives memory in units of this many bytes.
  private val Unit = 64

  private def tableOf(chunk: ChunkInPool): String =
    chunk.path.split('/').dropRight(1).lastOption.getOrElse("unknown")
}
