package io.oap.spark.executor

import java.nio.file.Files

import org.apache.spark.SparkContext
import org.apache.spark.sql.DataFrame
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** An executor that is killed leaves its pool to the one that takes its place. */
class ReopenSuite extends ExecutorsSuite(1) {
  import ReopenSuite.processOfExecutor

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "64m",
    "spark.oap.pool.path" -> Files.createDirectories(folder.resolve("pools")).toString,
    "spark.oap.pool.reopen" -> "true")

  private def write(name: String): Unit =
    spark.range(0, 20000, 1, 4).selectExpr("id", "id * 7 AS v").write.parquet(path(name))

  private def query(name: String): DataFrame =
    spark.read.parquet(path(name)).selectExpr("sum(id)", "max(v)")

  private def figures(): Seq[Long] = spark
    .sql("SELECT sum(hits), sum(misses), sum(evictions) FROM oap.system.executors")
    .head().toSeq.map(_.asInstanceOf[Long])

  private def held(): Seq[String] =
    spark.sql("SELECT path, row_group, column FROM oap.system.chunks").collect()
      .map(_.toString).toSeq.sorted

  private def killTheExecutor(): Unit = {
    val process = ProcessHandle.of(processOfExecutor(spark.sparkContext)).get
    assert(process.destroyForcibly())
    process.onExit().get()
    eventually(timeout(1.minute), interval(200.millis)) {
      assert(processOfExecutor(spark.sparkContext) !== process.pid)
    }
  }

  test("the first round after a kill is served from the pool") {
    Seq("t", "u").foreach(write)
    val expected = Seq("t", "u").map(name => alone(rows(query(name))))
    assert(Seq("t", "u").map(name => rows(query(name))) === expected)
    val before = held()
    assert(before.nonEmpty && before.exists(_.contains("/u/")))
    for (round <- 1 to 2) {
      killTheExecutor()
      assert(rows(query("t")) === expected.head, s"round $round")
      val figure = figures()
      assert(figure.head > 0 && figure(1) === 0, s"round $round: $figure")
      // Files that nobody has opened since are known all the same.
      assert(held() === before, s"round $round")
      assert(rows(query("u")) === expected.last, s"round $round")
      assert(figures()(1) === 0, s"round $round")
    }
  }

  test("a file that is written again is another one") {
    spark.range(0, 100, 1, 1).selectExpr("id", "id * 3 AS v")
      .write.mode("overwrite").parquet(path("t"))
    killTheExecutor()
    val expected = alone(rows(query("t")))
    assert(rows(query("t")) === expected)
    assert(rows(query("t")) === expected)
  }
}

private object ReopenSuite {
  def processOfExecutor(context: SparkContext): Long =
    context.range(0, 1, 1, 1).map(_ => ProcessHandle.current().pid()).first()
}
