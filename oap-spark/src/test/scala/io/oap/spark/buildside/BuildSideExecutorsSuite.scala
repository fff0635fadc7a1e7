package io.oap.spark.buildside

import org.apache.spark.SparkEnv

import io.oap.spark.{CacheControl, ExecutorsSuite}

/** What tasks of [[BuildSideExecutorsSuite]] run; the suite itself cannot be sent to them. */
private object BuildSideExecutorsSuite {
  def die(executor: String): Unit =
    if (SparkEnv.get.executorId == executor) Runtime.getRuntime.halt(137)

  /** Removes the files of all shuffles of the executor; returns how many there were. */
  def removeShuffles(): Int =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles().count { file =>
      file.getName.startsWith("shuffle_") && file.delete()
    }
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
    loseExecutor()
    assert(asked(assertRows(rows(query), expected, "on another executor")) === ((1, 0)))
    CacheControl.clear(spark)
    assertKept(query)
  }

  test("rows with kept shuffles after the loss of the executor that had their files") {
    def query = sql("SELECT /*+ MERGE(items) */ id, brand FROM sales JOIN items USING (item)")
    val expected = alone(rows(query))
    rows(query)
    assert(askedShuffles(assertRows(rows(query), expected, "kept")) === ((2, 0)))
    loseExecutor()
    for (found <- Seq(0, 2)) {
      val counts = askedShuffles(assertRows(rows(query), expected, "on another executor"))
      assert(counts === ((found, 2 - found)))
    }
  }

  test("files of a kept shuffle that are gone are written again, and then by the query itself") {
    CacheControl.clear(spark)
    def query = sql("SELECT /*+ MERGE(items) */ id, code FROM sales JOIN items USING (item, code)")
    val expected = alone(rows(query))
    rows(query)
    val removed =
      spark.sparkContext.parallelize(Seq(0), 1).map(_ => BuildSideExecutorsSuite.removeShuffles())
    assert(removed.first() > 0)
    // Nobody knows of it before a task misses them.
    for (found <- Seq(2, 0, 2)) {
      val counts = askedShuffles(assertRows(rows(query), expected, s"$found found"))
      assert(counts === ((found, 2 - found)))
    }
  }

  private def loseExecutor(): Unit = {
    val context = spark.sparkContext
    def executor = context.parallelize(Seq(0), 1).map(_ => SparkEnv.get.executorId).first()
    val first = executor
    context.parallelize(Seq(0), 1).foreach(_ => BuildSideExecutorsSuite.die(first))
    assert(executor !== first): Unit
  }
}
