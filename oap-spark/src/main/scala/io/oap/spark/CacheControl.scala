package io.oap.spark

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.FileSourceScanExec

import io.oap.cache.pool.PoolStats
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.buildside.BuildSides
import io.oap.spark.cluster.{Answer, Cluster}
import io.oap.spark.executor.{Clear, ExecutorCache, ListChunks, Part, TellPool}
import io.oap.spark.status.CountingFormat

/** Commands to the caches of an application, from its driver. */
object CacheControl {
  private val Patience = 60.seconds

  /**
   * Empties the column cache of every executor that is alive now, and forgets all build sides.
   *
   * @throws IllegalStateException naming the executors that could not be reached within a minute
   */
  def clear(spark: SparkSession): Unit = {
    BuildSides.of(spark.sparkContext).clear()
    val silent = Cluster.of(spark.sparkContext).ask(Clear(None), Patience)
      .filter(answer => answer.value.isEmpty && !answer.hasNoPool)
    if (silent.nonEmpty) {
      throw new IllegalStateException(
        silent.map(one => s"executor ${one.executor}: ${one.why.get}")
          .mkString("The column cache was not emptied of ", ", ", ""))
    }
  }

  /**
   * What the executors that are alive now hold, by their ids; without those that do not answer
   * within a minute. For tests and measurements: it lists every chunk.
   */
  def held(spark: SparkSession): Map[String, HeldByExecutor] = {
    val cluster = Cluster.of(spark.sparkContext)
    val files = cluster.ask(ListChunks(Part(0, 1)), Patience)
    val pools = cluster.ask(TellPool, Patience).map(pool => pool.executor -> pool.value).toMap
    val hosts = cluster.status.snapshot().executors.asScala
      .map(one => one.report.executor -> one.report.host).toMap
    files.collect {
      case Answer(id, held, _, hasNoPool) if held.isDefined || hasNoPool =>
        id -> HeldByExecutor.of(hosts(id), held.toSeq.flatten, pools.get(id).flatten)
    }.toMap
  }

  /**
   * What the tasks of a V1 scan have counted so far, by the names of the metrics of V2 scans; none
   * when it does not read through the cache.
   */
  def figures(scan: FileSourceScanExec): Option[Map[String, Long]] =
    scan.relation.fileFormat match {
      case format: CountingFormat =>
        val counted = format.figures
        Some(Figure.OF_READERS.asScala.map(f => f.metric -> f.shown(counted.get(f))).toMap)
      case _ => None
    }

  /** What the readers of this process have counted, all queries together. */
  def localCounters(): CacheCounters = ExecutorCache.readTotals()

  /** The pool of this process, if it is open. */
  def localPool(): Option[PoolStats] = ExecutorCache.get().map(_.poolStats())
}
