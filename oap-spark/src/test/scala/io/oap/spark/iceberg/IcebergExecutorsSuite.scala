package io.oap.spark.iceberg

import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.ExecutorsSuite

/** Iceberg tables read by executors that are processes of their own. */
class IcebergExecutorsSuite extends ExecutorsSuite(2) with IcebergSession {

  private def totals(): Seq[Long] = {
    val row = sql("SELECT sum(hits), sum(misses), sum(bytes_from_file), " +
      "sum(tasks_elsewhere) FROM oap.system.executors").head()
    row.toSeq.map(_.asInstanceOf[Long])
  }

  test("each part of a table is read by the executor that holds it") {
    sql("CREATE TABLE ice.db.t (id BIGINT, p INT) USING iceberg PARTITIONED BY (p) " +
      "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sql("INSERT INTO ice.db.t SELECT id, CAST(id % 8 AS INT) FROM range(8000)")
    sql("DELETE FROM ice.db.t WHERE id % 9 = 4")
    val query = "SELECT count(id), sum(id) FROM ice.db.t"
    withConf("spark.sql.iceberg.planning.preserve-data-grouping" -> "true") {
      val expected = alone(rows(sql(query)))
      assert(rows(sql(query)) === expected)
      eventually(timeout(1.minute)) {
        val before = totals()
        assert(rows(sql(query)) === expected)
        val warm = totals().zip(before).map { case (now, then) => now - then }
        assert(warm.head > 0 && warm.tail === Seq(0, 0, 0), warm)
      }
      val used = sql("SELECT used_bytes FROM oap.system.executors").collect().map(_.getLong(0))
      assert(used.length === 2 && used.forall(_ > 0), "both hold a part")
    }
  }
}
