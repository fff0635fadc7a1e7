package io.oap.spark.buildside

import org.apache.spark.SparkEnv

import io.oap.spark.{CacheControl, ExecutorsSuite}

/** What tasks of [[BuildSideExecutorsSuite]] run; the suite itself cannot be sent to them. */
private object BuildSideExecutorsSuite {
  def die(executor: String): Unit =
    if (SparkEnv.get.executorId == executor) Runtime.getRuntime.halt(137)
}

/** A kept side outlives the executors that had it; there is one, and another one when it dies. */
class BuildSideExecutorsSuite extends ExecutorsSuite(1) with BuildSideTables {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  test("rows with a kept side after the loss of the executor that had it") {
    def query = sql("SELECT sum(id), brand FROM sales JOIN items USING (item) GROUP BY brand")
    assertKept(query)
    val expected = alone(rows(query))
    val context = spark.sparkContext
    def executor = context.parallelize(Seq(0), 1).map(_ => SparkEnv.get.executorId).first()
    val first = executor
    context.parallelize(Seq(0), 1).foreach(_ => BuildSideExecutorsSuite.die(first))
    assert(executor !== first)
    assert(asked(assertRows(rows(query), expected, "on another executor")) === ((1, 0)))
    CacheControl.clear(spark)
    assertKept(query)
  }
}
