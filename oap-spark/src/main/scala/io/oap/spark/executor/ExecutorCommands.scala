package io.oap.spark.executor

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.pool.PoolSnapshot.HeldKey
import io.oap.cache.quota.TablePins.Outcome
import io.oap.common.ChunkKey
import io.oap.spark.table.PinnedColumns

/** What procedures do in each executor. */
private object ExecutorCommands extends Logging {

  /** Drops chunks of the files under these paths, or all that there is. */
  def clear(cache: ColumnCache, paths: Option[Seq[String]]): Dropped = {
    KeptStatuses.here.clear()
    val held = cache.snapshot().chunks.asScala
    val dropped = paths match {
      case None =>
        cache.clear()
        Dropped(held.size, held.map(_.bytes).sum)
      case Some(some) =>
        val files = cache.files.under(some.asJava).keySet
        val bytes = held.filter(chunk => files.contains(chunk.key.file)).map(_.bytes).sum
        Dropped(files.asScala.iterator.map(cache.drop(_)).sum, bytes)
    }
    logInfo(s"Column cache: ${dropped.chunks} chunks dropped, ${dropped.bytes} bytes")
    dropped
  }

  /** Changes the capacity of the pool; opens it, if no task has wanted it. */
  def resize(bytes: Long): Resized = ExecutorCache.get() match {
    case None => Resized(None, Some(ExecutorCache.whyNone))
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
  def pin(cache: ColumnCache, paths: Seq[String], columns: PinnedColumns): Pinned = {
    val isWanted = chunksOf(cache, paths, columns)
    val wanted = cache.snapshot().chunks.asScala.toSeq.filter(held => isWanted(held.key))
    val outcomes = wanted.map(held => cache.kept.keep(held.key) -> held)
    def of(outcome: Outcome): Seq[HeldKey] =
      outcomes.collect { case (`outcome`, held) => held }
    val (kept, refused) = (of(Outcome.KEPT), of(Outcome.TOO_MUCH))
    logInfo(s"Column cache: ${kept.size} chunks pinned, ${refused.size} refused")
    Pinned(kept.size.toLong, kept.map(_.bytes).sum, refused.size.toLong, refused.map(_.bytes).sum)
  }

  /** Lets the chunks of columns of the files there go. */
  def unpin(cache: ColumnCache, paths: Seq[String], columns: PinnedColumns): Dropped = {
    val isWanted = chunksOf(cache, paths, columns)
    val sizes = cache.kept.release((key: ChunkKey) => isWanted(key)).asScala.toSeq
    logInfo(s"Column cache: ${sizes.size} chunks unpinned")
    Dropped(sizes.size.toLong, sizes.map(_.longValue).sum)
  }

  /** Compares chunks of some files with their checksums. */
  def verify(cache: ColumnCache, part: Part): Checked = {
    val found = cache.verify(part.has)
    if (found.damaged > 0) {
      logWarning(s"Column cache: ${found.damaged} chunks were damaged and are dropped")
    }
    Checked(found.chunks, found.bytes, found.damaged, found.damagedBytes)
  }

  private def chunksOf(
      cache: ColumnCache,
      paths: Seq[String],
      columns: PinnedColumns): ChunkKey => Boolean = {
    val files = cache.files.under(paths.asJava)
    key => Option(files.get(key.file)).exists(f => columns.contains(f.columns.get(key.column)))
  }
}
