package io.oap.spark.cluster

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.sum
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, ChunkInPool, ExecutorsSuite, HeldByExecutor}

/** Two tables: what is asked for again and again, and what fills all pools. */
trait HotAndCold { this: ExecutorsSuite =>

  protected def write(name: String, files: Int, rowsOfEach: Int): Unit =
    spark.range(0, files.toLong * rowsOfEach, 1, files)
      .selectExpr("CAST(rand(1) * 1e12 AS BIGINT) AS x", "CAST(rand(2) * 1e12 AS BIGINT) AS y")
      .write.parquet(path(name))

  protected def query(name: String): DataFrame =
    spark.read.parquet(path(name)).agg(sum("x"), sum("y"))

  protected def hot(executor: HeldByExecutor): Set[ChunkInPool] =
    executor.chunks.keySet.filter(_.path.contains("/hot/"))

  /** Reads what is cold until so many tenths of each pool are full. */
  protected def fillPools(tenths: Int): Unit =
    eventually(timeout(1.minute)) {
      query("cold").collect()
      assert(CacheControl.held(spark).values.forall(one =>
        one.chunks.values.sum > one.capacityBytes / 10 * tenths))
    }
}
