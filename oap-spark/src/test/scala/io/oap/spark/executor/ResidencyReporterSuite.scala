package io.oap.spark.executor

import org.apache.spark.SparkEnv
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.directory.Cluster

/**
 * What a pool holds, told to the driver over Spark's own connection. Driver and executor are one
 * process here: the pool is that of a former application, and the cluster has no workers.
 */
class ResidencyReporterSuite extends CacheSuite with Eventually {
  private val Executor = "driver"

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    CacheControl.clear(spark) // of what other suites of this process have left
    spark.range(0, 4000, 1, 3).write.parquet(path("numbers"))
    spark.read.parquet(path("numbers")).collect()
    spark.stop()
    spark = newApplication(settings + ("spark.master" -> "local-cluster[0,1,1024]"))
  }

  private def plan(): Unit =
    spark.read.schema("id LONG").parquet(path("numbers")).queryExecution.executedPlan
      .execute().getNumPartitions

  test("all of the pool is told at first, and again when the driver asks") {
    val directory = Cluster.of(spark.sparkContext).directory
    def known: Long = directory.totals().executors.map(_.chunks).sum
    directory.executorJoined(Executor, "host", 1)
    val cache = ExecutorCache.get().get
    val held = cache.snapshot().chunks.size
    assert(held === 3)
    val reporter = new ResidencyReporter(SparkEnv.get, cache)
    reporter.start()
    try {
      eventually(assert(known === held))
      directory.executorLost(Executor)
      directory.executorJoined(Executor, "host", 1)
      assert(known === 0)
      plan()
      eventually(assert(known === held))
      assert(directory.totals().files === 3)
    } finally reporter.stop()
  }
}
