package io.oap.spark.directory

import org.apache.spark.sql.functions.sum
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** Executors of dynamic allocation, which would go after five seconds but for their pools. */
class AllocationSuite extends ExecutorsSuite(2) {
  private val KeepSeconds = 25

  override protected def settings: Map[String, String] =
    super.settings ++ Map(
      "spark.dynamicAllocation.enabled" -> "true",
      "spark.dynamicAllocation.minExecutors" -> "1",
      "spark.dynamicAllocation.initialExecutors" -> "2",
      "spark.dynamicAllocation.maxExecutors" -> "2",
      "spark.dynamicAllocation.executorIdleTimeout" -> "5s",
      "spark.dynamicAllocation.shuffleTracking.timeout" -> "5s",
      "spark.executor.cores" -> "1",
      "spark.oap.cache.keepExecutors" -> s"${KeepSeconds}s"
    )

  private def executors = Cluster.of(spark.sparkContext).directory.executorIds

  test("executors stay for as long as their pools have earned, and then go") {
    spark.range(0, 240000, 1, 24).selectExpr("id", "id % 77 AS k").write.parquet(path("t"))
    def query = spark.read.parquet(path("t")).groupBy("k").agg(sum("id"))
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
  }
}
