package io.oap.spark.cluster

import scala.collection.mutable

import io.oap.cache.stats.Figure
import io.oap.spark.status.Figures

/**
 * Has dynamic allocation keep executors whose pools have earned it: they gave tasks more than tasks
 * read from files. Each stays until its pool was not used for some time. Thread-safe.
 *
 * @param keepNanos that time
 * @param keep tells Spark whether the executor of this id is to stay
 * @param nanoTime a clock as `System.nanoTime`
 */
private final class EarnedExecutors(
    keepNanos: Long,
    keep: (String, Boolean) => Unit,
    nanoTime: () => Long) {

  private final class Pool {
    var served = 0L
    var usedAt = 0L
    var isKept = false
  }

  private val pools = mutable.HashMap.empty[String, Pool]

  /** Takes note of what an executor has told of its readers. */
  def reported(executor: String, figures: Figures): Unit = synchronized {
    val pool = pools.getOrElseUpdate(executor, new Pool)
    val served = figures.get(Figure.BYTES_FROM_POOL)
    if (served > pool.served) {
      pool.served = served
      pool.usedAt = nanoTime()
      if (!pool.isKept && served > figures.get(Figure.BYTES_FROM_FILE)) {
        pool.isKept = true
        keep(executor, true)
      }
    }
  }

  /** Lets executors go whose pools were not used for long; called some times in a second. */
  def check(): Unit = synchronized {
    val now = nanoTime()
    for ((executor, pool) <- pools if pool.isKept && now - pool.usedAt >= keepNanos) {
      pool.isKept = false
      keep(executor, false)
    }
  }

  def lost(executor: String): Unit = synchronized(pools.remove(executor): Unit)
}
