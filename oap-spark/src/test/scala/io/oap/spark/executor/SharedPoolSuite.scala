package io.oap.spark.executor

import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** Executors of a host that have one pool together. */
class SharedPoolSuite extends ExecutorsSuite(2) {

  override protected def settings: Map[String, String] = Map(
    "spark.oap.pool.size" -> "64m",
    "spark.oap.pool.path" -> Files.createDirectories(folder.resolve("pools")).toString,
    "spark.oap.pool.shared" -> "true")

  private def query(name: String): DataFrame =
    spark.read.parquet(path(name)).selectExpr("sum(id)", "max(v)")

  private def sum(column: String): Long =
    spark.sql(s"SELECT sum($column) FROM oap.system.executors").head().getLong(0)

  private def pids(): Map[String, Long] = {
    import org.apache.spark.SparkEnv
    spark.sparkContext.range(0, 16, 1, 16).map { _ =>
      Thread.sleep(50) // so that no executor has done all before another one begins
      SparkEnv.get.executorId -> ProcessHandle.current().pid()
    }.collect().toMap
  }

  private def chunks(): Seq[String] =
    spark.sql("SELECT path, row_group, column FROM oap.system.chunks").collect()
      .map(_.toString).toSeq.distinct.sorted

  test("each chunk is loaded once, for all, and outlives whoever has loaded it") {
    spark.range(0, 40000, 1, 8).selectExpr("id", "id * 7 AS v").write.parquet(path("t"))
    val expected = alone(rows(query("t")))
    for (_ <- 1 to 4) assert(rows(query("t")) === expected)
    eventually(timeout(30.seconds), interval(200.millis)) {
      assert(pids().size === 2)
    }
    val held = chunks()
    assert(held.size === 16)
    // Whoever did not read a file opened the pool, too, and has all that is there.
    val loaded = sum("misses")
    assert(loaded === 16)

    val victim = pids().min
    val process = ProcessHandle.of(victim._2).get
    assert(process.destroyForcibly())
    process.onExit().get()
    eventually(timeout(1.minute), interval(200.millis)) {
      assert(pids().keySet.size === 2 && !pids().contains(victim._1))
    }
    for (_ <- 1 to 4) assert(rows(query("t")) === expected)
    assert(chunks() === held)
    // The survivor may have loaded some before; nobody has loaded anything again.
    assert(sum("misses") <= loaded)
  }
}
