package io.oap.spark.delta

import io.oap.cache.stats.Figure
import io.oap.spark.ExtendedTest
import io.oap.spark.filescan.FlatTypes

/** Tables of Delta that are read from vector chunks. */
@ExtendedTest
class DeltaVectorSuite extends DeltaScanSuite {

  /** Makes a table of two files, with rows of all flat types. */
  private def table(
      name: String,
      properties: String = "",
      partitions: String = "",
      rows: Int = 6000): String = {
    val where = s"delta.`${watched(name)}`"
    FlatTypes.rows(spark, 0, rows - 1500).createOrReplaceTempView("rows")
    val set = if (properties.isEmpty) "" else s"TBLPROPERTIES ($properties)"
    sql(s"CREATE TABLE $where USING delta $partitions $set AS SELECT * FROM rows")
    FlatTypes.rows(spark, rows - 1500, rows).createOrReplaceTempView("rows")
    sql(s"INSERT INTO $where SELECT * FROM rows")
    where
  }

  test("all flat types") {
    val t = table("flat")
    assertServedByVectors(sql(s"SELECT * FROM $t"))
    assertConditions(sql(s"SELECT * FROM $t"))
    assertServedByVectors(sql(s"SELECT s, _metadata.file_name FROM $t WHERE step IN (3, 11)"))
    withConf("spark.sql.codegen.wholeStage" -> "false", "spark.sql.adaptive.enabled" -> "false") {
      assertServedByVectors(sql(s"SELECT step, max(s), sum(d18) FROM $t GROUP BY step"))
    }
  }

  test("a table that a task has open twice") {
    // The first row group is one of two zones.
    val t = withConf("parquet.block.row.count.limit" -> "5000")(
      table("turns", "'delta.enableDeletionVectors' = 'true'", rows = 12000))
    val columns = "id, s, d18, day, step"
    assertReadInTurns(sql(s"SELECT $columns FROM $t"))
    assertReadInTurns(sql(s"SELECT $columns FROM $t WHERE step <> 2 AND s > 's2'"))
    sql(s"DELETE FROM $t WHERE id % 7 = 3")
    assertReadInTurns(sql(s"SELECT $columns FROM $t WHERE step <> 2"))
  }

  test("zones and rows are dropped in the scan") {
    val t = table("zones")
    val counters = assertServedByVectors(sql(s"SELECT s, d9 FROM $t WHERE id BETWEEN 100 AND 120"))
    assert(counters.get(Figure.ZONES_SKIPPED) > 0)
    assert(counters.get(Figure.ROWS_DROPPED) > 0)
  }

  test("dates and moments in the old calendar") {
    for (mode <- Seq("LEGACY", "CORRECTED"))
      withConf(
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode,
        "spark.sql.parquet.int96RebaseModeInWrite" -> mode) {
        val t = table(s"calendar-$mode")
        assertServedByVectors(sql(s"SELECT id, day, moment FROM $t"))
        assertServedByVectors(sql(s"SELECT day, moment FROM $t WHERE day < DATE'1600-01-01'"))
      }
  }

  for (mode <- Seq("name", "id")) test(s"columns that are called otherwise in files, by $mode") {
    val mapped = s"'delta.columnMapping.mode' = '$mode'"
    val t = table(s"mapped-$mode", mapped)
    // Swapped, so that a condition on the wrong one would show.
    for ((from, to) <- Seq("step" -> "x", "small" -> "step", "x" -> "small"))
      sql(s"ALTER TABLE $t RENAME COLUMN $from TO $to")
    sql(s"ALTER TABLE $t RENAME COLUMN s TO `a.b c`")
    val counters = assertServedByVectors(
      sql(s"SELECT id, step, small, `a.b c` FROM $t WHERE small = 3 AND `a.b c` > 's5'"))
    assert(counters.get(Figure.ROWS_DROPPED) > 0)
    assertServedByVectors(sql(s"SELECT * FROM $t WHERE step BETWEEN 5 AND 600"))
    sql(s"ALTER TABLE $t DROP COLUMNS (tiny, `a.b c`)")
    sql(s"ALTER TABLE $t ADD COLUMNS (tiny STRING, added INT)")
    sql(s"INSERT INTO $t (id, tiny, added) VALUES (-1, 'new', 7)")
    assertServedByVectors(sql(s"SELECT * FROM $t"))
    assertServedByVectors(sql(s"SELECT id, tiny FROM $t WHERE tiny IS NULL AND id < 100"))
    assertServedByVectors(sql(s"SELECT id, added FROM $t WHERE added = 7 OR id = 5"))
  }

  test(
    "a table whose columns are called otherwise from some version on, with nested ones swapped") {
    val t = s"delta.`${watched("upgraded")}`"
    sql(s"CREATE TABLE $t USING delta AS SELECT id, id % 7 AS k, " +
      "named_struct('a', id, 'b', -id) AS n FROM range(0, 6000, 1, 1)")
    sql(s"ALTER TABLE $t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', " +
      "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')")
    for ((from, to) <- Seq("n.a" -> "x", "n.b" -> "a", "n.x" -> "b"))
      sql(s"ALTER TABLE $t RENAME COLUMN $from TO $to")
    assertServedByVectors(sql(s"SELECT id, n.a, k FROM $t WHERE n.a > -50 AND k < 3"))
    assertServedByVectors(sql(s"SELECT id, n.b FROM $t WHERE n.b > 5900"))
  }

  test("partitions, and a type that is widened") {
    val t = table("parts", "'delta.enableTypeWidening' = 'true'", "PARTITIONED BY (step)")
    assertServedByVectors(sql(s"SELECT * FROM $t WHERE step IN (3, 11) AND s > 's4'"))
    sql(s"ALTER TABLE $t ALTER COLUMN small TYPE INT")
    sql(s"INSERT INTO $t (id, small, step) VALUES (-1, 100000, 3)")
    assertServedByVectors(sql(s"SELECT id, small FROM $t"))
    assertServedByVectors(sql(s"SELECT id FROM $t WHERE small > 2500"))
  }

  // Without column mapping: below, and of tables that are open twice.
  test("deletion vectors of some files, with column mapping") {
    val t = table(
      "deleted",
      "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'")
    sql(s"DELETE FROM $t WHERE id < 4500 AND id % 7 < 3")
    val counters = assertServedByVectors(sql(s"SELECT * FROM $t WHERE id > 2000 AND s < 's7'"))
    assert(counters.get(Figure.ROWS_DROPPED) > 0)
    assertServedByVectors(sql(s"SELECT * FROM $t"))
    assertServedByVectors(sql(s"SELECT id, _metadata.row_index, s FROM $t WHERE step > 5"))
    assertServedByVectors(sql(s"SELECT max(s), _metadata.file_name FROM $t GROUP BY 2"))
    assert(sql(s"SELECT count(s) + count_if(s IS NULL) FROM $t").head().getLong(0) ===
      (0 until 6000).count(id => id >= 4500 || id % 7 >= 3))
    sql(s"UPDATE $t SET s = 'new' WHERE id % 11 = 0")
    sql(s"DELETE FROM $t WHERE id % 13 = 0")
    assertServedByVectors(sql(s"SELECT * FROM $t WHERE s IN ('new', 's5')"))
    for (version <- 1 to 3) assertServedByFiles(sql(s"SELECT s, id FROM $t VERSION AS OF $version"))
  }

  test("deletion vectors, whatever way a plan runs") {
    val t = table("ways", "'delta.enableDeletionVectors' = 'true'")
    sql(s"DELETE FROM $t WHERE id < 4500 AND id % 7 < 3")
    for ((key, value) <- Seq(
        "spark.sql.codegen.wholeStage" -> "false",
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.columnVector.offheap.enabled" -> "true"))
      withConf(key -> value)(assertServedByVectors(sql(s"SELECT id, s FROM $t WHERE tiny < 40")))
    withConf("spark.databricks.delta.deletionVectors.useMetadataRowIndex" -> "false") {
      assertServedByFiles(sql(s"SELECT id, s FROM $t WHERE tiny < 40"))
    }
  }
}
