package io.oap.spark.executor

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.cache.quota.TablePins.Outcome
import io.oap.common.{ChunkKey, FileId}
import io.oap.spark.table.PinnedColumns

/** What an executor has dropped. */
private[spark] final case class Dropped(chunks: Long, bytes: Long)

/**
 * What came of a new capacity.
 *
 * @param capacityBytes capacity of the pool now, if there is one
 * @param why why it is as before
 * @param warning of memory that is too small for it
 */
private[spark] final case class Resized(
    capacityBytes: Option[Long],
    why: Option[String],
    warning: Option[String] = None)

/** What an executor has pinned, and what not. */
private[spark] final case class Pinned(
    chunks: Long,
    bytes: Long,
    refusedChunks: Long,
    refusedBytes: Long) {
  def why: Option[String] =
    if (refusedChunks == 0) None else Some("no more than half of a pool may be pinned")
}

/** What came of comparing chunks with their checksums. */
private[spark] final case class Checked(
    chunks: Long,
    bytes: Long,
    damagedChunks: Long,
    damagedBytes: Long)

/** What procedures do in each executor. */
private[spark] object ExecutorCommands extends Logging {

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
        val warning = ExecutorCache.resize(cache, bytes)
        val capacity = cache.poolStats.capacityBytes
        logInfo(s"Column cache: the pool has a capacity of $capacity bytes now")
        Resized(Some(capacity), None, warning)
      } catch {
        case NonFatal(e) =>
          Resized(Some(cache.poolStats.capacityBytes), Some(String.valueOf(e.getMessage)))
      }
  }

  /** Keeps the chunks of columns of the files there. */
  def pin(paths: Seq[String], columns: PinnedColumns): Pinned =
    openCache.fold(Pinned(0, 0, 0, 0)) { cache =>
      val isWanted = chunksOf(cache, paths, columns)
      val wanted = cache.snapshot().chunks.asScala.toSeq.filter(held => isWanted(held.key))
      val outcomes = wanted.map(held => cache.kept.keep(held.key) -> held)
      def of(outcome: Outcome): Seq[HeldKey] =
        outcomes.collect { case (`outcome`, held) => held }
      val (kept, refused) = (of(Outcome.KEPT), of(Outcome.TOO_MUCH))
      logInfo(s"Column cache: ${kept.size} chunks pinned, ${refused.size} refused")
      Pinned(
        kept.size.toLong,
        kept.map(_.bytes).sum,
        refused.size.toLong,
        refused.map(_.bytes).sum)
    }

  /** Lets the chunks of columns of the files there go. */
  def unpin(paths: Seq[String], columns: PinnedColumns): Dropped =
    openCache.fold(Dropped(0, 0)) { cache =>
      val isWanted = chunksOf(cache, paths, columns)
      val sizes = cache.kept.release((key: ChunkKey) => isWanted(key)).asScala.toSeq
      logInfo(s"Column cache: ${sizes.size} chunks unpinned")
      Dropped(sizes.size.toLong, sizes.map(_.longValue).sum)
    }

  /** Compares all chunks with their checksums; on a task, until that is cancelled. */
  def verify(): Checked = openCache.fold(Checked(0, 0, 0, 0)) { cache =>
    val found = cache.verify(() => TaskContext.get().isInterrupted())
    if (found.damaged > 0) {
      logWarning(s"Column cache: ${found.damaged} chunks were damaged and are dropped")
    }
    Checked(found.chunks, found.bytes, found.damaged, found.damagedBytes)
  }

  private def openCache: Option[ColumnCache] = ExecutorCache.ifOpened.flatMap(_.toOption)

  private def chunksOf(
      cache: ColumnCache,
      paths: Seq[String],
      columns: PinnedColumns): ChunkKey => Boolean = {
    val files = paths.map(cache.files.under(_).asScala.toMap).foldLeft(
      Map.empty[FileId, KnownFile])(_ ++ _)
    key => files.get(key.file).exists(file => columns.contains(file.columns.get(key.column)))
  }
}
