package io.oap.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.sql.SparkSession

import io.oap.cache.CacheCounters
import io.oap.cache.pool.PoolStats

/** Commands to the caches of an application, from its driver. */
object CacheControl {
  private val Rounds = 10

  /**
   * Empties the column cache of every executor that is alive now.
   *
   * @throws IllegalStateException naming the executors that could not be reached, each having had
   *     several chances to run a task
   */
  def clear(spark: SparkSession): Unit = {
    val context = spark.sparkContext
    def alive = SparkInternals.executors(context).asScala.map(e => e.id -> e.host).toMap
    var left = alive
    for (_ <- 1 to Rounds if left.nonEmpty) {
      val tasks = left.toSeq.map { case (id, host) => (id, Seq(s"executor_${host}_$id")) }
      val reached = context.makeRDD(tasks).map { _ =>
        ExecutorCache.clear()
        SparkEnv.get.executorId
      }
      left --= reached.collect()
      // One that is gone has nothing to empty.
      left = left.filter { case (id, _) => alive.contains(id) }
    }
    if (left.nonEmpty) {
      throw new IllegalStateException(
        s"The column cache of executor ${left.keys.toSeq.sorted.mkString(", ")} was not emptied: " +
          "the executor ran no task of ours. It may be busy; try again.")
    }
  }

  /** What the readers of this process have counted, all queries together. */
  def localCounters(): CacheCounters = ExecutorCache.readTotals()

  /** The pool of this process, if it is open. */
  def localPool(): Option[PoolStats] = ExecutorCache.get().map(_.poolStats())
}
