package io.oap.spark.status

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv

import io.oap.cache.{CacheCounters, ColumnCache}
import io.oap.cache.pool.{NativeLibrary, PoolOptions, PoolStats}
import io.oap.spark.{EveryExecutor, ExecutorCache}

/**
 * What the column cache of one process is and has done.
 *
 * @param state one of [[ExecutorReport]]'s words
 * @param why the reason for that state, where there is one
 * @param counters what the readers of the process have counted since it started
 */
private[status] final case class ExecutorReport(
    executor: String,
    host: String,
    state: String,
    why: Option[String],
    pool: Option[PoolReport],
    counters: ReaderTotals)

/** The pool of a process, while it is open. */
private[status] final case class PoolReport(
    medium: String,
    paths: String,
    bytesOnNodes: Map[Int, Long],
    capacityBytes: Long,
    usedBytes: Long,
    pinnedBytes: Long,
    chunks: Long,
    evictions: Long,
    ghostReserves: Long,
    nativeVersion: String)

/** See [[CacheCounters]]. */
private[status] final case class ReaderTotals(
    hits: Long,
    misses: Long,
    bypasses: Long,
    bytesFromPool: Long,
    bytesFromFile: Long,
    loadNanos: Long) {

  /** Millions of bytes for each second that a task spent reading files; none before it has. */
  def loadRate: Option[Double] =
    if (loadNanos > 0) Some(bytesFromFile.toDouble * 1000 / loadNanos) else None
}

private[status] object ExecutorReport {
  val Open = "open"
  val Unused = "not used yet"
  val Off = "off"
  val Unreached = "not reached"

  /** That of this process. Opens no cache. */
  def here(): ExecutorReport = {
    val (state, why, pool) = ExecutorCache.ifOpened match {
      case None => (Unused, None, None)
      case Some(Left(reason)) => (Off, Some(reason), None)
      case Some(Right(cache)) =>
        val fault = Option(cache.chunks.fault).map(_.toString)
        (if (fault.isDefined) Off else Open, fault, Some(poolOf(cache)))
    }
    val environment = SparkEnv.get
    ExecutorReport(
      environment.executorId,
      environment.blockManager.blockManagerId.host,
      state,
      why,
      pool,
      totals(ExecutorCache.readTotals()))
  }

  /** That of an executor that gave none. */
  def unreached(executor: String, host: String): ExecutorReport = ExecutorReport(
    executor,
    host,
    Unreached,
    Some(EveryExecutor.NoAnswer),
    None,
    ReaderTotals(0, 0, 0, 0, 0, 0))

  private def poolOf(cache: ColumnCache): PoolReport = {
    val options: PoolOptions = cache.poolOptions
    val stats: PoolStats = cache.poolStats
    PoolReport(
      options.medium.toString.toLowerCase(java.util.Locale.ROOT),
      options.paths.asScala.mkString(","),
      cache.bytesOnNodes.asScala.map { case (node, bytes) =>
        node.intValue -> bytes.longValue
      }.toMap,
      stats.capacityBytes,
      stats.usedBytes,
      stats.pinnedBytes,
      stats.chunks,
      stats.evictions,
      stats.ghostReserves,
      NativeLibrary.version()
    )
  }

  private def totals(counters: CacheCounters): ReaderTotals = ReaderTotals(
    counters.chunksHit,
    counters.chunksMissed,
    counters.chunksBypassed,
    counters.bytesFromPool,
    counters.bytesFromFile,
    counters.loadNanos)
}
