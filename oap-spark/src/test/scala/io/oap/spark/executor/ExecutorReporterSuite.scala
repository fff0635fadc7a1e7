package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, CacheSuite, NoDirectMemory}
import io.oap.spark.cluster.Cluster

/** What a pool holds, told to the driver, which in local mode is the same process. */
class ExecutorReporterSuite extends CacheSuite with Eventually {
  private val Executor = "driver"

  override implicit val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  private def cluster: Cluster = Cluster.of(spark.sparkContext)

  private def known: Long = cluster.directory.totals().executors.map(_.chunks).sum

  test("all of the pool is told at first, then what changes, and all again when the driver asks") {
    CacheControl.clear(spark) // of what other suites of this process have left
    spark.range(0, 4000, 1, 3).write.parquet(path("numbers"))
    spark.read.parquet(path("numbers")).collect()
    eventually(assert(known === 3))
    assert(cluster.directory.totals().files === 3)
    cluster.directory.executorLost(Executor)
    cluster.directory.executorJoined(Executor, "host", 1)
    assert(known === 0)
    cluster.tell(Executor, ReportAnew)
    eventually(assert(known === 3))
    CacheControl.clear(spark)
    eventually(assert(known === 0))
  }

  test("a report or an answer that finds no memory outside the heap ends no thread") {
    CacheControl.clear(spark)
    spark.range(0, 4000, 1, 3).write.parquet(path("starved"))
    spark.read.parquet(path("starved")).collect()
    eventually(assert(known === 3))
    val reporters = Thread.getAllStackTraces.keySet.asScala.filter(_.getName == "oap-reports")
    NoDirectMemory {
      cluster.directory.executorLost(Executor)
      cluster.directory.executorJoined(Executor, "host", 1)
      cluster.tell(Executor, ReportAnew)
      // It tries some times in a second.
      for (reporter <- reporters) reporter.join(2000)
      assert(CacheControl.held(spark) === Map.empty)
    }
    eventually(assert(known === 3))
  }

  test("the driver learns of an executor with its first chunks, before their task goes on") {
    // The figures of a pool that has just been opened, not those of later reports.
    spark.stop()
    spark = newApplication(settings + ("spark.oap.pool.size" -> "24m"))
    val seen = spark.sparkContext.makeRDD(Seq(1), 1).map { _ =>
      ExecutorCache.get()
      CacheControl.localPool().get.capacityBytes
    }.first()
    val told = cluster.status.totals
    assert(told.figures.get(Figure.CAPACITY_BYTES) === seen && seen === (24L << 20))
  }

  test("of an executor without a pool the driver learns that it takes nothing, and when it asks") {
    spark.stop()
    spark = newApplication(settings + ("spark.oap.pool.path" -> path("nowhere")))
    def capacity = cluster.directory.totals().executors.map(_.executor.capacityBytes)
    assert(capacity === Seq(-1))
    assert(ExecutorCache.get() === None)
    eventually(assert(capacity === Seq(0)))
    cluster.directory.executorLost(Executor)
    cluster.directory.executorJoined(Executor, "host", 1)
    assert(capacity === Seq(-1))
    cluster.tell(Executor, ReportAnew)
    eventually(assert(capacity === Seq(0)))
  }
}
