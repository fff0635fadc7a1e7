package io.oap.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv

import io.oap.common.ChunkKey

/**
 * What the pool of one executor holds at one moment.
 *
 * @param host the executor's, as Spark knows it
 * @param chunks bytes of each published chunk; the key as text, the same on all executors
 * @param evictedBytes bytes removed to make room, since the pool was opened
 * @param pinnedChunks chunks that are in use, or being loaded
 */
final case class HeldByExecutor(
    host: String,
    chunks: Map[String, Long],
    capacityBytes: Long,
    evictedBytes: Long,
    pinnedChunks: Long)

object HeldByExecutor {

  /** That of this process: nothing of no capacity, before a task has opened the cache. */
  private[spark] def here(): HeldByExecutor = {
    val cache = ExecutorCache.ifOpened.flatMap(_.toOption)
    val stats = cache.map(_.poolStats)
    val chunks = cache.toSeq.flatMap(_.snapshot.chunks.asScala)
    HeldByExecutor(
      SparkEnv.get.blockManager.blockManagerId.host,
      chunks.map(held => text(held.key) -> held.bytes).toMap,
      stats.fold(0L)(_.capacityBytes),
      stats.fold(0L)(_.evictedBytes),
      stats.fold(0L)(_.pinnedChunks)
    )
  }

  private def text(key: ChunkKey): String =
    s"${key.file.high} ${key.file.low} ${key.rowGroup} ${key.column} ${key.representation}"
}
