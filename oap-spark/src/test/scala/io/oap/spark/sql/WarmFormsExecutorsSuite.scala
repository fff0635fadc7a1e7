package io.oap.spark.sql

import org.apache.spark.sql.Row
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** Tables of all kinds are warmed on the executors on which queries look for their chunks. */
class WarmFormsExecutorsSuite extends ExecutorsSuite(2) with TableForms {

  override protected def settings: Map[String, String] = super.settings ++ Map(
    // Several tasks for each executor, of a file each.
    "spark.sql.files.maxPartitionBytes" -> "60000",
    "spark.sql.files.openCostInBytes" -> "60000",
    "spark.sql.iceberg.planning.preserve-data-grouping" -> "true"
  )

  private var executors = Set.empty[String]

  private def figures(): Seq[Long] =
    sql("SELECT sum(hits), sum(misses), sum(bytes_from_file), sum(tasks_elsewhere) " +
      "FROM oap.system.executors").head().toSeq.map(_.asInstanceOf[Long])

  private def warm(table: String): Seq[Row] =
    sql(s"CALL oap.system.warm('$table')").collect().toSeq

  for (form <- forms) test(form.name) {
    val t = made(form, "placed")
    def query = sql(s"SELECT count(id), max(v), sum(s.x) FROM $t")
    val expected = alone(rows(query))
    // Tasks that would wait for longer than reading takes go elsewhere: not in every round.
    eventually(timeout(2.minutes)) {
      sql(s"CALL oap.system.clear(table => '$t')").collect()
      val warmed = warm(t)
      executors ++= warmed.map(_.getString(0))
      assert(total(warmed, "loaded_chunks") > 0 && total(warmed, "refused_chunks") === 0, warmed)
      // Reports of what executors hold come seconds later.
      eventually(timeout(20.seconds))(assert(total(warm(t), "loaded_chunks") === 0))
      val before = figures()
      assert(rows(query) === expected)
      val counted = figures().zip(before).map { case (now, then) => now - then }
      assert(counted.head > 0 && counted.tail === Seq(0, 0, 0), counted)
    }
  }

  test("all executors take a part") {
    assert(executors === Set("0", "1"))
  }
}
