package io.oap.spark.status

import com.codahale.metrics.{Counter, Gauge, MetricRegistry}
import org.apache.spark.SparkEnv

import io.oap.spark.internals.SparkInternals
import io.oap.spark.status.CacheSnapshot.Sample

/**
 * A number of the column cache that monitoring systems can follow.
 *
 * @param isCounter whether it only grows
 */
private[spark] final case class CacheMetric(
    name: String,
    isCounter: Boolean,
    value: Sample => Long)

/** The metrics, and their way into Spark's metrics system. */
private[spark] object CacheMetrics {

  /** What stands before their names. */
  val Source = "oap"

  val all: Seq[CacheMetric] = Seq(
    CacheMetric("executors", isCounter = false, _.executors.toLong),
    CacheMetric("capacityBytes", isCounter = false, _.capacityBytes),
    CacheMetric("usedBytes", isCounter = false, _.usedBytes),
    CacheMetric("pinnedBytes", isCounter = false, _.pinnedBytes),
    CacheMetric("chunks", isCounter = false, _.chunks),
    CacheMetric("evictions", isCounter = true, _.evictions),
    CacheMetric("hits", isCounter = true, _.readers.hits),
    CacheMetric("misses", isCounter = true, _.readers.misses),
    CacheMetric("bypasses", isCounter = true, _.readers.bypasses),
    CacheMetric("bytesFromPool", isCounter = true, _.readers.bytesFromPool),
    CacheMetric("bytesFromFile", isCounter = true, _.readers.bytesFromFile),
    CacheMetric("loadMillis", isCounter = true, _.readers.loadNanos / 1000000)
  )

  /** Adds all metrics to those of this process. */
  def add(environment: SparkEnv, sample: () => Sample): Unit = {
    val registry = new MetricRegistry
    all.foreach { metric =>
      if (metric.isCounter) {
        registry.register(
          metric.name,
          new Counter {
            override def getCount: Long = metric.value(sample())
          })
      } else {
        registry.register[Gauge[Long]](metric.name, () => metric.value(sample()))
      }
    }
    SparkInternals.addMetrics(environment, Source, registry)
  }
}
