package io.oap.spark.executor

import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, ExecutorsSuite}
import io.oap.spark.cluster.Cluster

/** An executor whose first tasks come to its cache all at the same time, as those of several cores do. */
class SeveralCoresSuite extends ExecutorsSuite(executors = 1, cores = 4) {
  private def chunksKnown(): Long =
    Cluster.of(spark.sparkContext).directory.totals().executors.map(_.chunks).sum

  test("the driver goes on to hear what the executor holds") {
    for (table <- Seq("first", "second"))
      spark.range(0, 8000, 1, 8).selectExpr("id", "id * 7 AS v").write.parquet(path(table))
    for ((table, chunks) <- Seq("first" -> 16, "second" -> 32)) {
      def query = spark.read.parquet(path(table)).selectExpr("sum(id)", "max(v)")
      assert(rows(query) === alone(rows(query)))
      eventually(timeout(20.seconds), interval(100.millis))(assert(chunksKnown() === chunks))
    }
    CacheControl.clear(spark)
    eventually(timeout(20.seconds), interval(100.millis))(assert(chunksKnown() === 0))
  }
}
