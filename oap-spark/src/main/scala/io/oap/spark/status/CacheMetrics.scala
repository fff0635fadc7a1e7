package io.oap.spark.status

import com.codahale.metrics.{Counter, Gauge, MetricRegistry}
import org.apache.spark.SparkEnv

import io.oap.cache.stats.Figure
import io.oap.spark.internals.SparkInternals
import io.oap.spark.status.CacheSnapshot.Sample

/** The way of all figures into Spark's metrics system. */
private[spark] object CacheMetrics {

  /** What stands before their names. */
  val Source = "oap"

  /** Adds all figures to the metrics of this process. */
  def add(environment: SparkEnv, sample: () => Sample): Unit = {
    val registry = new MetricRegistry
    registry.register[Gauge[Long]]("executors", () => sample().executors.toLong)
    Figure.values.foreach { figure =>
      def value: Long = figure.shown(sample().figures.get(figure))
      registry.register(
        figure.gauge,
        if (figure.isCounter) new Counter { override def getCount: Long = value }
        else (() => value): Gauge[Long])
    }
    SparkInternals.addMetrics(environment, Source, registry)
  }
}
