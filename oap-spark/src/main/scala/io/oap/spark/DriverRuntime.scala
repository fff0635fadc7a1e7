package io.oap.spark

import org.apache.spark.{SparkContext, SparkEnv}

import io.oap.spark.cluster.Cluster
import io.oap.spark.internals.{PerSparkContext, SparkInternals, SparkUi}
import io.oap.spark.scan.ScanHistory
import io.oap.spark.sql.Warming
import io.oap.spark.status.CacheMetrics
import io.oap.spark.status.CacheStatus.orWithout
import io.oap.spark.ui.CacheTab

/** Starts what watches the column cache of an application, in its driver. Thread-safe. */
private object DriverRuntime {
  private val all = new PerSparkContext(begin)

  /** Begins with the first call for an application; later ones do nothing. */
  def start(context: SparkContext): Unit = all.of(context)

  private def begin(context: SparkContext): Cluster = {
    val cluster = Cluster.of(context)
    val status = cluster.status
    cluster.followedTables.warm = Warming.newFiles
    context.addSparkListener(new ScanHistory(SparkInternals.post(context, _)))
    orWithout("tab")(SparkUi.attach(context, CacheTab.of(context, () => status.snapshot())))
    orWithout("metrics")(CacheMetrics.add(SparkEnv.get, () => status.totals))
    cluster
  }
}
