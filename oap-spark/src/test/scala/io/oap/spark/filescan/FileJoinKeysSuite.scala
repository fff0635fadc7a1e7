package io.oap.spark.filescan

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.execution.{ExplainMode, InSubqueryExec}

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.CacheControl

/** Join keys in V1 scans, Delta's among them: which scans get them, and that rows stay right. */
class FileJoinKeysSuite extends DeltaScanSuite {

  private def at(name: String): String = s"delta.`${watched(name)}`"

  private lazy val days = {
    sql(s"CREATE TABLE ${at("days")} USING delta AS SELECT IF(id = 5, NULL, CAST(id AS INT)) AS " +
      "day_sk, date_add(DATE '1582-10-01', CAST(id AS INT)) AS day, CAST(id / 30 AS INT) AS month " +
      "FROM range(200)")
    at("days")
  }

  private lazy val items = {
    sql(
      s"CREATE TABLE ${at("items")} USING delta AS SELECT id AS item_sk, concat('n', id % 300) AS " +
        "name, CAST(id % 20 AS INT) AS class, CAST(id / 10 AS DECIMAL(7, 2)) AS price, " +
        "CAST(id / 7 AS DOUBLE) AS ratio, timestamp_seconds(id * 1000) AS t FROM range(12000)")
    at("items")
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

  private lazy val facts = create("facts")

  private def star(of: String = facts): DataFrame = sql(
    s"""SELECT /*+ BROADCAST(d, i) */ d.day, i.name, sum(f.price) FROM $of f
       |JOIN $days d ON f.day_sk = d.day_sk JOIN $items i ON f.item_sk = i.item_sk
       |WHERE d.month = 2 AND i.class = 3 GROUP BY d.day, i.name""".stripMargin)

  /** The columns whose join keys the scans of a plan have. */
  private def keys(query: DataFrame): Seq[String] = {
    rows(query)
    cachedFileScans(query.queryExecution.executedPlan).flatMap(_.dataFilters).collect {
      case DynamicPruningExpression(InSubqueryExec(column, _, _, _, _, _)) =>
        column.references.head.name
    }.sorted
  }

  private def assertServed(query: => DataFrame): CacheCounters = assertServedByVectors(query)

  test("a star join drops rows in the scan, cold and warm") {
    assert(assertServed(star()).get(Figure.ROWS_DROPPED) > 19000)
    assert(keys(star()) === Seq("day_sk", "item_sk"))
    CacheControl.clear(spark)
    assert(counting(rows(star()))._2.get(Figure.ROWS_DROPPED) > 19000)
    val ran = star()
    ran.collect()
    val explained = ran.queryExecution.explainString(ExplainMode.fromString("formatted"))
    assert("joinkeys#".r.findAllIn(explained).size >= 2, explained)
    for (conf <- Seq(
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false"))
      withConf(conf) {
        assertServed(star())
        assert(keys(star()) === Nil)
      }
  }

  test("keys of all types") {
    for ((on, key) <- Seq(
        "f.name = i.name" -> Some("name"),
        "f.price = i.price" -> Some("price"),
        "f.t = i.t" -> Some("t"),
        "f.item_sk = i.item_sk AND f.name = i.name" -> Some("item_sk"),
        // Two zeros join that are not the same bytes.
        "f.ratio = i.ratio" -> None,
        "f.day_sk = i.item_sk" -> None
      )) {
      def query = sql("SELECT /*+ BROADCAST(i) */ f.item_sk, f.name, i.class " +
        s"FROM $facts f JOIN $items i ON $on WHERE i.class IN (1, 2) AND i.item_sk < 1000")
      assertServed(query)
      assert(keys(query).headOption === key, on)
    }
    // Days around the change of calendars.
    for (mode <- Seq("LEGACY", "CORRECTED"))
      withConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> mode) {
        val old = create(s"old-$mode")
        def query = sql(s"SELECT /*+ BROADCAST(d) */ f.item_sk, d.month FROM $old f JOIN $days d " +
          "ON f.day = d.day WHERE d.day_sk < 8")
        assertServed(query)
        assert(keys(query) === Seq("day"))
      }
  }

  test("joins that keep rows without a partner get no keys of it") {
    val some = s"(SELECT * FROM $days WHERE month = 1)"
    for {
      join <-
        Seq("JOIN", "LEFT SEMI JOIN", "LEFT JOIN", "LEFT ANTI JOIN", "RIGHT JOIN", "FULL JOIN")
    } {
      def query = sql(s"SELECT /*+ BROADCAST(d) */ f.item_sk, f.day_sk FROM $facts f " +
        s"$join $some d ON f.day_sk = d.day_sk")
      assertSameRows(query)
      assert((keys(query) == Seq("day_sk")) === Set("JOIN", "LEFT SEMI JOIN")(join), join)
    }
    assertSameRows(sql(s"SELECT /*+ BROADCAST(d) */ f.item_sk FROM $facts f JOIN $days d " +
      "ON f.day_sk = d.day_sk WHERE d.month = 1000"))
  }

  test("keys do not pass what counts rows, nor exchanges") {
    for ((all, more) <- Seq(
        s"SELECT *, monotonically_increasing_id() AS n FROM $facts" -> "n",
        s"SELECT *, rand(7) AS n FROM $facts" -> "n",
        s"SELECT * FROM $facts WHERE rand(3) < 0.5" -> "item_sk",
        s"SELECT /*+ REPARTITION(3) */ * FROM $facts" -> "item_sk",
        s"SELECT day_sk, max(item_sk) AS n FROM $facts GROUP BY day_sk" -> "n"
      )) {
      def query = sql(s"SELECT /*+ BROADCAST(d) */ f.day_sk, $more FROM ($all) f JOIN $days d " +
        "ON f.day_sk = d.day_sk WHERE d.month = 3")
      assertSameRows(query)
      assert(keys(query) === Nil, all)
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
    assert(assertServed(query).get(Figure.ROWS_DROPPED) > 10000)
    assert(keys(query) === Seq("day_sk", "item_sk"))
  }

  test("partitions, row groups, and scans of one table in one plan") {
    val t = create("parted", "PARTITIONED BY (day_sk)", "id % 180 BETWEEN 58 AND 63")
    assertSameRows(star(t))
    assert(keys(star(t)) === Seq("item_sk"))
    def twice = star().union(star()).union(sql(
      s"SELECT /*+ BROADCAST(d) */ d.day, 'x', sum(f.price) FROM $facts f " +
        s"JOIN $days d ON f.day_sk = d.day_sk WHERE d.month = 3 GROUP BY d.day"))
    assertServed(twice)
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
