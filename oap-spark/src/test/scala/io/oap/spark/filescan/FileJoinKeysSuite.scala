package io.oap.spark.filescan

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.execution.InSubqueryExec

import io.oap.cache.stats.Figure
import io.oap.spark.{CacheControl, JoinKeyTests}
import io.oap.spark.delta.DeltaScanSuite

/** Join keys in V1 scans, Delta's among them: which scans get them, and that rows stay right. */
class FileJoinKeysSuite extends DeltaScanSuite with JoinKeyTests {

  private def at(name: String): String = s"delta.`${watched(name)}`"

  // Dimensions of Parquet, which are planned sooner than Delta's: it is the facts that get keys.
  override protected lazy val days: String = {
    sql("CREATE TABLE days USING parquet AS SELECT IF(id = 5, NULL, CAST(id AS INT)) AS " +
      "day_sk, date_add(DATE '1582-10-01', CAST(id AS INT)) AS day, CAST(id / 30 AS INT) AS month " +
      "FROM range(0, 200, 1, 1)")
    "days"
  }

  override protected lazy val items: String = {
    sql(
      "CREATE TABLE items USING parquet AS SELECT id AS item_sk, concat('n', id % 300) AS " +
        "name, CAST(id % 20 AS INT) AS class, CAST(id / 10 AS DECIMAL(7, 2)) AS price, " +
        "CAST(id / 7 AS DOUBLE) AS ratio, timestamp_seconds(id * 1000) AS t " +
        "FROM range(0, 12000, 1, 1)")
    "items"
  }

  private val someFacts =
    """SELECT IF(id % 13 = 0, NULL, CAST(id % 180 AS INT)) AS day_sk, id % 997 AS item_sk,
      |IF(id % 11 = 0, NULL, concat('n', id % 400)) AS name,
      |date_add(DATE '1582-10-01', CAST(id % 150 AS INT)) AS day,
      |timestamp_seconds(id % 900 * 1000) AS t, CAST((id % 3000) / 10 AS DECIMAL(7, 2)) AS price,
      |CAST((id % 100) / 7 AS DOUBLE) AS ratio""".stripMargin

  private def create(name: String, more: String = "", which: String = "id >= 0"): String = {
    sql(s"CREATE TABLE ${at(name)} USING delta $more AS $someFacts " +
      s"FROM range(0, 20000, 1, 2) WHERE $which")
    at(name)
  }

  override protected lazy val facts: String = create("facts")

  override protected def keys(query: DataFrame): Seq[String] = {
    rows(query)
    cachedFileScans(query.queryExecution.executedPlan).flatMap(_.dataFilters).collect {
      case DynamicPruningExpression(InSubqueryExec(column, _, _, _, _, _)) =>
        column.references.head.name
    }.sorted
  }

  override protected def assertRead(query: => DataFrame): Unit =
    withConf("spark.oap.cache.representation" -> "vector") {
      assertServedByFiles(query)
      assert(vectorChunks.nonEmpty)
    }

  test("a star join drops rows in the scan, cold and warm") {
    assert(assertServedByVectors(star()).get(Figure.ROWS_DROPPED) > 19000)
    CacheControl.clear(spark)
    assert(counting(rows(star()))._2.get(Figure.ROWS_DROPPED) > 19000)
  }

  test("days around the change of calendars") {
    for (mode <- Seq("LEGACY", "CORRECTED"))
      withConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> mode) {
        val old = create(s"old-$mode")
        def query = sql(s"SELECT /*+ BROADCAST(d) */ f.item_sk, d.month FROM $old f JOIN $days d " +
          "ON f.day = d.day WHERE d.day_sk < 8")
        assertRead(query)
        assert(keys(query) === Seq("day"))
      }
  }

  for (mode <- Seq("none", "name")) test(s"deletion vectors, column mapping $mode") {
    val t = create(
      s"deleted-$mode",
      "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', " +
        s"'delta.columnMapping.mode' = '$mode')")
    sql(s"DELETE FROM $t WHERE item_sk % 5 = 1 AND day_sk > 30")
    if (mode == "name")
      // Swapped, so that keys of the wrong one would show.
      for ((from, to) <- Seq("day_sk" -> "x", "item_sk" -> "day_sk", "x" -> "item_sk"))
        sql(s"ALTER TABLE $t RENAME COLUMN $from TO $to")
    def query =
      if (mode == "none") star(t)
      else
        sql(s"SELECT /*+ BROADCAST(d, i) */ f.name, i.name FROM $t f JOIN $days d ON f.item_sk = d.day_sk " +
          s"JOIN $items i ON f.day_sk = i.item_sk WHERE d.month = 2 AND i.class = 3")
    assert(assertServedByVectors(query).get(Figure.ROWS_DROPPED) > 10000)
    assert(keys(query) === Seq("day_sk", "item_sk"))
  }

  test("partitions, row groups, and scans of one table in one plan") {
    val t = create("parted", "PARTITIONED BY (day_sk)", "id % 180 BETWEEN 58 AND 63")
    assertSameRows(star(t))
    assert(keys(star(t)) === Seq("item_sk"))
    def twice = star().union(star()).union(sql(
      s"SELECT /*+ BROADCAST(d) */ d.day, 'x', sum(f.price) FROM $facts f " +
        s"JOIN $days d ON f.day_sk = d.day_sk WHERE d.month = 3 GROUP BY d.day"))
    assertRead(twice)
    sql(
      s"CREATE TABLE ${at("sorted")} USING delta AS SELECT id, id % 7 AS x FROM range(0, 9000, 1, 3)")
    def pruned = sql(s"SELECT /*+ BROADCAST(i) */ f.x FROM ${at("sorted")} f " +
      s"JOIN $items i ON f.id = i.item_sk " +
      "WHERE i.ratio < 10 AND i.class = 3")
    // A condition on the key itself would reach Delta, too.
    assertSameRows(pruned)
    assert(counting(rows(pruned))._2.get(Figure.ROW_GROUPS_PRUNED) > 0)
  }

  test("changes of a table change what they change without the cache") {
    def changed(change: String => String): Seq[Row] = {
      val name = s"target-${System.nanoTime()}"
      sql(change(create(name)))
      sql(s"SELECT * FROM ${at(name)}").collect().toSeq.sortBy(_.toString)
    }
    val some = s"(SELECT day_sk FROM $days WHERE month = 2)"
    for (change <- Seq[String => String](
        table =>
          s"MERGE INTO $table t USING $some s ON t.day_sk = s.day_sk AND t.item_sk < 500 " +
            "WHEN MATCHED AND t.item_sk % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET price = 1 " +
            "WHEN NOT MATCHED BY SOURCE AND t.item_sk < 50 THEN UPDATE SET price = 2",
        table =>
          s"MERGE INTO $table t USING $some s ON t.day_sk = s.day_sk " +
            "WHEN MATCHED THEN UPDATE SET name = 'merged'"
      )) assert(changed(change) === alone(changed(change)))
  }
}
