package io.oap.spark

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession

import io.oap.cache.pool.PoolStats
import io.oap.cache.stats.CacheCounters
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.rpc.EveryExecutor

/** Commands to the caches of an application, from its driver. */
object CacheControl {
  private val Patience = 60.seconds

  /**
   * Empties the column cache of every executor that is alive now.
   *
   * @throws IllegalStateException naming the executors that could not be reached within a minute
   */
  def clear(spark: SparkSession): Unit = {
    val answers = EveryExecutor.ask(spark.sparkContext, Patience)(() => ExecutorCache.clear())
    val left = answers.collect { case (executor, _, None) => executor }
    if (left.nonEmpty) {
      throw new IllegalStateException(
        s"The column cache of executor ${left.mkString(", ")} was not emptied: " +
          EveryExecutor.NoAnswer)
    }
  }

  /**
   * What the executors that are alive now hold, by their ids; without those that answered to no
   * task within a minute. For tests and measurements: it lists every chunk.
   */
  def held(spark: SparkSession): Map[String, HeldByExecutor] =
    EveryExecutor
      .ask(spark.sparkContext, Patience)(() => HeldByExecutor.here())
      .collect { case (executor, _, Some(held)) => executor -> held }
      .toMap

  /** What the readers of this process have counted, all queries together. */
  def localCounters(): CacheCounters = ExecutorCache.readTotals()

  /** The pool of this process, if it is open. */
  def localPool(): Option[PoolStats] = ExecutorCache.get().map(_.poolStats())
}
