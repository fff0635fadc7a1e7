package io.oap.spark.status

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.spark.ExecutorCache

/** What an executor has dropped. */
private[status] final case class Dropped(chunks: Long, bytes: Long)

/**
 * What came of a new capacity.
 *
 * @param capacityBytes capacity of the pool now, if there is one
 * @param why why it is as before
 */
private[status] final case class Resized(capacityBytes: Option[Long], why: Option[String])

/** What procedures do in each executor. */
private[status] object ExecutorCommands extends Logging {

  /**
   * Drops chunks.
   *
   * @param paths files and folders, fully qualified; nothing stands for all that there is
   */
  def clear(paths: Option[Seq[String]]): Dropped =
    ExecutorCache.ifOpened.flatMap(_.toOption).fold(Dropped(0, 0)) { cache =>
      val held = cache.snapshot().chunks.asScala
      val dropped = paths match {
        case None =>
          cache.clear()
          Dropped(held.size, held.map(_.bytes).sum)
        case Some(some) =>
          val files = some.flatMap(cache.files.under(_).keySet.asScala).toSet
          val bytes = held.filter(chunk => files(chunk.key.file)).map(_.bytes).sum
          Dropped(files.toSeq.map(cache.drop(_)).sum, bytes)
      }
      logInfo(s"Column cache: ${dropped.chunks} chunks dropped, ${dropped.bytes} bytes")
      dropped
    }

  /** Changes the capacity of the pool; opens it, if no task has wanted it. */
  def resize(bytes: Long): Resized = ExecutorCache.get() match {
    case None =>
      Resized(None, ExecutorCache.ifOpened.flatMap(_.left.toOption))
    case Some(cache) =>
      try {
        cache.resize(bytes)
        val capacity = cache.poolStats.capacityBytes
        logInfo(s"Column cache: the pool has a capacity of $capacity bytes now")
        Resized(Some(capacity), None)
      } catch {
        case NonFatal(e) =>
          Resized(Some(cache.poolStats.capacityBytes), Some(String.valueOf(e.getMessage)))
      }
  }
}
