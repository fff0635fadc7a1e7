package io.oap.spark.cluster

import java.nio.file.{Files, Path}

import scala.concurrent.Await
import scala.concurrent.duration.Duration

import com.codahale.metrics.Gauge
import org.apache.spark.SparkEnv
import org.apache.spark.network.TransportContext
import org.apache.spark.network.shuffle.ExternalBlockHandler
import org.apache.spark.network.util.{MapConfigProvider, TransportConf}
import org.apache.spark.resource.{
  ExecutorResourceRequests,
  ResourceProfileBuilder,
  TaskResourceRequests
}
import org.apache.spark.sql.functions.sum
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{ExecutorsSuite, ExtendedTest}

/**
 * Executors of dynamic allocation, which would go after five seconds but for their pools: what they
 * have written for shuffles is with the external shuffle service.
 */
@ExtendedTest
class AllocationSuite extends ExecutorsSuite(2) {
  private val KeepSeconds = 25

  private val handler =
    new ExternalBlockHandler(new TransportConf("shuffle", MapConfigProvider.EMPTY), null)

  private lazy val service =
    new TransportContext(new TransportConf("shuffle", MapConfigProvider.EMPTY), handler)
      .createServer()

  override protected def afterAll(): Unit =
    try super.afterAll()
    finally service.close()

  override protected def settings: Map[String, String] =
    super.settings ++ Map(
      "spark.dynamicAllocation.enabled" -> "true",
      "spark.dynamicAllocation.minExecutors" -> "1",
      "spark.dynamicAllocation.initialExecutors" -> "2",
      "spark.dynamicAllocation.maxExecutors" -> "2",
      "spark.dynamicAllocation.executorIdleTimeout" -> "5s",
      "spark.shuffle.service.enabled" -> "true",
      "spark.shuffle.service.port" -> service.getPort.toString,
      "spark.executor.cores" -> "1",
      "spark.oap.cache.keepExecutors" -> s"${KeepSeconds}s"
    )

  private def executors = Cluster.of(spark.sparkContext).directory.executorIds

  test("executors stay for as long as their pools have earned, and then go") {
    spark.range(0, 240000, 1, 24).selectExpr("id", "id % 77 AS k").write.parquet(path("t"))
    val expected = alone(rows(query))
    var used = 0L
    eventually(timeout(2.minutes), interval(100.millis)) {
      // More tasks than one executor has cores for, for as long as it takes to ask for another.
      if (executors.size < 2)
        spark.sparkContext.parallelize(1 to 8, 8).foreach(_ => Thread.sleep(500))
      assert(rows(query) === expected)
      used = System.nanoTime()
      val earned = spark.sql("SELECT executor_id FROM oap.system.executors " +
        "WHERE bytes_from_pool > bytes_from_file").collect()
      assert(earned.length === 2)
    }
    eventually(timeout(1.minute), interval(100.millis))(assert(executors.size === 1))
    val seconds = (System.nanoTime() - used) / 1e9
    // Each counts from when it has told the driver, which it does every two seconds.
    assert(seconds > KeepSeconds - 5, s"the first one was gone after $seconds s")
    assert(rows(query) === expected)
    assert(registered() >= 2)
  }

  /** How many executors the shuffle service knows. */
  private def registered(): Int = handler.getAllMetrics.getMetrics.get("registeredExecutorsSize")
    .asInstanceOf[Gauge[Integer]].getValue

  private def query = spark.read.parquet(path("t")).groupBy("k").agg(sum("id"))

  test("executors of another resource profile have pools, and get the stages that ask for them") {
    val expected = alone(rows(query))
    val profile = new ResourceProfileBuilder()
      .require(new ExecutorResourceRequests().cores(1).memory("512m"))
      .require(new TaskResourceRequests().cpus(1))
      .build()
    val plain = executors
    // As Python's `df.rdd` does, of which the plan of the scan knows nothing.
    val read = spark.read.parquet(path("t")).queryExecution.toRdd.withResources(profile)
    val readers = read.mapPartitions { rows =>
      rows.foreach(_ => ())
      Iterator(SparkEnv.get.executorId)
    }
    assert(readers.collect().toSet.intersect(plain) === Set.empty)
    val done = path("done")
    val stay = spark.sparkContext.parallelize(Seq(1), 1).withResources(profile)
      .foreachAsync(_ => while (!Files.exists(Path.of(done))) Thread.sleep(100))
    try {
      eventually(timeout(30.seconds), interval(100.millis)) {
        val pools = spark.sql("SELECT executor_id, capacity_bytes FROM oap.system.executors " +
          "WHERE chunks > 0").collect().map(row => row.getString(0) -> row.getLong(1)).toMap
        assert((pools.keySet -- plain).size === 1)
        assert(pools.values.toSet.size === 1, "a pool is as large as all others")
      }
      assert(executorsNamed(query) === plain)
      assert(rows(query) === expected)
    } finally {
      Files.createFile(Path.of(done))
      Await.result(stay, Duration.Inf)
    }
  }
}
