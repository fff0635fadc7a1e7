package io.oap.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv

import io.oap.cache.ColumnCache
import io.oap.spark.executor.ExecutorCache

/**
 * What the pool of one executor holds at one moment.
 *
 * @param host the executor's, as Spark knows it
 * @param chunks bytes of each published chunk
 * @param evictedBytes bytes removed to make room, since the pool was opened
 * @param pinnedChunks chunks that are in use, or being loaded
 */
final case class HeldByExecutor(
    host: String,
    chunks: Map[ChunkInPool, Long],
    capacityBytes: Long,
    evictedBytes: Long,
    pinnedChunks: Long)

/**
 * A chunk as executors and the driver know it alike.
 *
 * @param key `ChunkKey`, as text
 * @param path of its file; empty when the executor no longer knows
 * @param column the top-level column it belongs to; empty in the same case
 */
final case class ChunkInPool(key: String, path: String, column: String)

object HeldByExecutor {

  /** Describes this process: an empty pool without capacity before a task has opened the cache. */
  private[spark] def here(): HeldByExecutor = {
    val cache = ExecutorCache.ifOpened.flatMap(_.toOption)
    val stats = cache.map(_.poolStats)
    HeldByExecutor(
      SparkEnv.get.blockManager.blockManagerId.host,
      cache.fold(Map.empty[ChunkInPool, Long])(chunksOf),
      stats.fold(0L)(_.capacityBytes),
      stats.fold(0L)(_.evictedBytes),
      stats.fold(0L)(_.pinnedChunks)
    )
  }

  private def chunksOf(cache: ColumnCache): Map[ChunkInPool, Long] =
    cache.snapshot.chunks.asScala.map { held =>
      val file = Option(cache.files.get(held.key.file))
      val path = file.fold("")(_.identity.path)
      ChunkInPool(
        held.key.toString,
        path,
        file.fold("")(_.columns.get(held.key.column))) -> held.bytes
    }.toMap
}
