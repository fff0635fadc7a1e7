package io.oap.spark.executor

import java.nio.file.{Files, Path}

import org.apache.spark.SparkEnv
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** One of two executors has no pool. */
class WithoutPoolSuite extends ExecutorsSuite(2, cores = 4) {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.path" -> "pool")

  test("pieces go to the one that keeps them, also those that were sent to the other before") {
    eventually(timeout(1.minute))(assert(processes().keySet === Set("0", "1")))
    val opened = spark.sparkContext.parallelize(1 to 60, 60).map { _ =>
      Thread.sleep(50)
      // In the working folder of the executor.
      if (SparkEnv.get.executorId == "0") Files.createDirectories(Path.of("pool"))
      SparkEnv.get.executorId
    }
    assert(opened.collect().toSet === Set("0", "1"))
    // No more files than cores: more would be shared with whoever is free.
    def queries = (1 to 4).map(i => spark.read.parquet(path(s"t$i")).selectExpr("sum(id)"))
    for (i <- 1 to 4) spark.range(0, 4000, 1, 4).write.parquet(path(s"t$i"))
    def named = queries.map(executorsNamed).reduce(_ ++ _)
    assert(named === Set("0", "1"), "nothing is known of their pools")
    queries.indices.foreach(i => assertSameRows(queries(i)))
    eventually(timeout(1.minute), interval(1.second)) {
      queries.foreach(_.collect())
      assert(named === Set("0"))
    }
  }
}
