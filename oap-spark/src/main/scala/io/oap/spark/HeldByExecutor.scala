package io.oap.spark

import io.oap.cache.pool.PoolStats
import io.oap.spark.executor.{HeldChunk, HeldFile}

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
 * A chunk as all executors know it.
 *
 * @param key which chunk of which version of a file it is
 * @param path of its file
 * @param column the top-level column it belongs to
 */
final case class ChunkInPool(key: String, path: String, column: String)

object HeldByExecutor {

  /** Describes an executor: an empty pool without capacity before a task has opened the cache. */
  private[spark] def of(
      host: String,
      files: Seq[HeldFile],
      stats: Option[PoolStats]): HeldByExecutor =
    HeldByExecutor(
      host,
      files.flatMap(file => file.chunks.map(chunk => chunkOf(file, chunk) -> chunk.bytes)).toMap,
      stats.fold(0L)(_.capacityBytes),
      stats.fold(0L)(_.evictedBytes),
      stats.fold(0L)(_.pinnedChunks)
    )

  private def chunkOf(file: HeldFile, chunk: HeldChunk): ChunkInPool = {
    val key = (file.identity, chunk.rowGroup, chunk.leaf, chunk.isVector)
    ChunkInPool(key.toString, file.path, file.leaves(chunk.leaf))
  }
}
