package io.oap.spark.iceberg

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.execution.{ExplainMode, InSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.cache.stats.Figure

/** Join keys in the scans of Iceberg tables: which scans get them, and that rows stay right. */
class IcebergJoinKeysSuite extends IcebergSuite with FlatIcebergTables {

  private val columns = "day_sk INT, item_sk BIGINT, name STRING, day DATE, t TIMESTAMP, " +
    "price DECIMAL(7, 2), ratio DOUBLE"

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    create("facts", "")
    sql("CREATE TABLE ice.db.days (day_sk INT, day DATE, month INT) USING iceberg")
    sql("INSERT INTO ice.db.days SELECT IF(id = 5, NULL, CAST(id AS INT)), " +
      "date_add(DATE '1582-10-01', CAST(id AS INT)), CAST(id / 30 AS INT) FROM range(200)")
    sql("CREATE TABLE ice.db.items (item_sk BIGINT, name STRING, class INT, price DECIMAL(7, 2), " +
      "ratio DOUBLE, t TIMESTAMP) USING iceberg")
    sql("INSERT INTO ice.db.items SELECT id, concat('n', id % 300), CAST(id % 20 AS INT), " +
      "id / 10, id / 7, timestamp_seconds(id * 1000) FROM range(12000)")
  }

  private def create(table: String, more: String): Unit = {
    sql(s"CREATE TABLE ice.db.$table ($columns) USING iceberg $more")
    insert(table, 0)
  }

  private def insert(table: String, from: Int): Unit =
    sql(s"""INSERT INTO ice.db.$table SELECT IF(id % 13 = 0, NULL, CAST(id % 180 AS INT)), id % 997,
      |IF(id % 11 = 0, NULL, concat('n', id % 400)),
      |date_add(DATE '1582-10-01', CAST(id % 150 AS INT)), timestamp_seconds(id % 900 * 1000),
      |(id % 3000) / 10, (id % 100) / 7 FROM range($from, ${from + 20000}, 1, 2)""".stripMargin): Unit

  private def star(facts: String = "ice.db.facts"): DataFrame = sql(
    s"""SELECT d.day, i.name, sum(f.price) FROM $facts f
       |JOIN ice.db.days d ON f.day_sk = d.day_sk JOIN ice.db.items i ON f.item_sk = i.item_sk
       |WHERE d.month = 2 AND i.class = 3 GROUP BY d.day, i.name""".stripMargin)

  /** The columns whose join keys the scans of a plan have. */
  private def keys(query: DataFrame): Seq[String] = keysOf(executed(query))

  private def keysOf(plan: SparkPlan): Seq[String] =
    collectWithSubqueries(plan) { case scan: BatchScanExec => scan.runtimeFilters }.flatten
      .collect { case DynamicPruningExpression(InSubqueryExec(column, _, _, _, _, _)) =>
        column.references.head.name
      }.sorted

  private def dropped(query: => DataFrame): Long =
    counting(rows(query))._2.get(Figure.ROWS_DROPPED)

  test("a star join drops rows in the scan") {
    assertFlat(star())
    assert(keys(star()) === Seq("day_sk", "item_sk"))
    assert(dropped(star()) > 19000)
    val ran = star()
    ran.collect()
    val explained = ran.queryExecution.explainString(ExplainMode.fromString("formatted"))
    assert("joinkeys#".r.findAllIn(explained).size >= 2, explained)
    withConf("spark.oap.cache.representation" -> "encoded")(assert(dropped(star()) > 19000))
    for (conf <- Seq(
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false"))
      withConf(conf) {
        assertFlat(star())
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
      def query = sql("SELECT f.item_sk, f.name, i.class FROM ice.db.facts f JOIN ice.db.items i " +
        s"ON $on WHERE i.class IN (1, 2) AND i.item_sk < 1000")
      assertFlat(query)
      assert(keys(query).headOption === key, on)
    }
    // Days around the change of calendars.
    def days = sql("SELECT f.item_sk, d.month FROM ice.db.facts f JOIN ice.db.days d " +
      "ON f.day = d.day WHERE d.day_sk < 8")
    assertFlat(days)
    assert(keys(days) === Seq("day"))
  }

  test("joins that keep rows without a partner get no keys of it") {
    val days = "(SELECT * FROM ice.db.days WHERE month = 1)"
    for {
      join <-
        Seq("JOIN", "LEFT SEMI JOIN", "LEFT JOIN", "LEFT ANTI JOIN", "RIGHT JOIN", "FULL JOIN")
      hint <- Seq("d", "f")
    } {
      def query = sql(s"SELECT /*+ BROADCAST($hint) */ f.item_sk, f.day_sk FROM ice.db.facts f " +
        s"$join $days d ON f.day_sk = d.day_sk")
      assertSameRows(query)
      if (hint == "d")
        assert((keys(query) == Seq("day_sk")) === Set("JOIN", "LEFT SEMI JOIN")(join), join)
    }
    for (condition <- Seq(
        s"day_sk IN (SELECT day_sk FROM $days)",
        s"day_sk NOT IN (SELECT day_sk FROM ice.db.days WHERE day_sk < 100)",
        s"EXISTS (SELECT 1 FROM $days d WHERE d.day_sk = f.day_sk) OR item_sk = 5"
      ))
      assertSameRows(sql(s"SELECT item_sk, day_sk FROM ice.db.facts f WHERE $condition"))
    assertSameRows(sql("SELECT f.item_sk FROM ice.db.facts f JOIN ice.db.days d " +
      "ON f.day_sk = d.day_sk WHERE d.month = 1000"))
  }

  test("keys do not pass what counts rows, nor exchanges") {
    for ((rows, more) <- Seq(
        "SELECT *, monotonically_increasing_id() AS n FROM ice.db.facts" -> "n",
        "SELECT *, rand(7) AS n FROM ice.db.facts" -> "n",
        "SELECT * FROM ice.db.facts WHERE rand(3) < 0.5" -> "item_sk",
        "SELECT /*+ REPARTITION(3) */ * FROM ice.db.facts" -> "item_sk",
        "SELECT * FROM ice.db.facts LIMIT 5000" -> "1",
        "SELECT day_sk, max(item_sk) AS n FROM ice.db.facts GROUP BY day_sk" -> "n"
      )) {
      def query = sql(s"SELECT f.day_sk, $more FROM ($rows) f JOIN ice.db.days d " +
        "ON f.day_sk = d.day_sk WHERE d.month = 3")
      if (more != "1") assertSameRows(query)
      assert(keys(query) === Nil, rows)
    }
    def renamed =
      sql("SELECT g.x, g.y + 1 FROM (SELECT day_sk AS x, item_sk AS y FROM ice.db.facts " +
        "WHERE item_sk > 3) g JOIN ice.db.days d ON g.x = d.day_sk WHERE d.month = 3")
    assertFlat(renamed)
    assert(keys(renamed) === Seq("day_sk"))
  }

  test("as many keys as are of use") {
    def query(keys: Int) = sql("SELECT /*+ BROADCAST(i) */ f.day_sk, i.class FROM ice.db.facts f " +
      s"JOIN ice.db.items i ON f.item_sk = i.item_sk WHERE i.item_sk < $keys")
    assert(keys(query(8000)) === Seq("item_sk"))
    assertSameRows(query(8000))
    assert(keys(query(9000)) === Nil)
    assertSameRows(query(9000))
  }

  test("deletes, time travel, partitions and renamed columns") {
    for ((table, version) <- Seq("deletes" -> 2, "vectors" -> 3)) {
      create(
        table,
        s"TBLPROPERTIES ('format-version' = '$version', 'write.delete.mode' = 'merge-on-read')")
      val first = sql(s"SELECT snapshot_id FROM ice.db.$table.snapshots").head().getLong(0)
      insert(table, 1)
      sql(s"DELETE FROM ice.db.$table WHERE item_sk % 5 = 1 AND day_sk > 30")
      for (of <- Seq(s"ice.db.$table", s"ice.db.$table VERSION AS OF $first")) {
        assertSameRows(star(of))
        assert(keys(star(of)) === Seq("day_sk", "item_sk"))
      }
    }
    create("parted", "PARTITIONED BY (day_sk)")
    assertSameRows(star("ice.db.parted"))
    val scan = collectWithSubqueries(executed(star("ice.db.parted"))) { case scan: BatchScanExec =>
      scan
    }.maxBy(_.runtimeFilters.size)
    assert(keys(star("ice.db.parted")) === Seq("day_sk", "item_sk"))
    assert(scan.metrics("resultDataFiles").value < 181, "Iceberg got its own part of the keys")
    sql("ALTER TABLE ice.db.parted DROP PARTITION FIELD day_sk")
    sql("ALTER TABLE ice.db.parted ADD PARTITION FIELD bucket(4, item_sk)")
    sql("ALTER TABLE ice.db.parted RENAME COLUMN name TO label")
    sql("ALTER TABLE ice.db.parted RENAME COLUMN price TO name")
    sql("ALTER TABLE ice.db.parted RENAME COLUMN label TO price")
    sql("INSERT INTO ice.db.parted SELECT * FROM ice.db.facts WHERE day_sk < 100")
    def renamed =
      sql("SELECT f.item_sk, f.name, i.class FROM ice.db.parted f JOIN ice.db.items i " +
        "ON f.price = i.name JOIN ice.db.days d ON f.day_sk = d.day_sk " +
        "WHERE i.item_sk < 300 AND i.class = 7 AND d.month = 1")
    assertSameRows(renamed)
    assert(keys(renamed).contains("price"))
  }

  test("changes of a table change what they change without the cache") {
    def changed(mode: String, change: String => String): Seq[Row] = {
      sql("DROP TABLE IF EXISTS ice.db.target")
      create(
        "target",
        s"TBLPROPERTIES ('write.delete.mode' = '$mode', 'write.update.mode' = '$mode', " +
          s"'write.merge.mode' = '$mode')")
      sql(change("ice.db.target"))
      sql("SELECT * FROM ice.db.target").collect().toSeq.sortBy(_.toString)
    }
    val months = "(SELECT d.day_sk, first(i.item_sk) AS item_sk FROM ice.db.days d JOIN " +
      "ice.db.items i ON d.day_sk = i.item_sk WHERE d.month = 2 GROUP BY d.day_sk)"
    for {
      mode <- Seq("merge-on-read", "copy-on-write")
      change <- Seq[String => String](
        table =>
          s"MERGE INTO $table t USING $months s ON t.day_sk = s.day_sk " +
            "WHEN MATCHED AND t.item_sk % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET price = 1 " +
            "WHEN NOT MATCHED BY SOURCE AND t.item_sk < 50 THEN UPDATE SET price = 2",
        table =>
          s"MERGE INTO $table t USING $months s ON t.day_sk = s.day_sk " +
            "WHEN MATCHED THEN UPDATE SET name = 'merged'",
        table => s"DELETE FROM $table WHERE day_sk IN (SELECT day_sk FROM $months)",
        table => s"UPDATE $table SET price = 3 WHERE day_sk IN (SELECT day_sk FROM $months)"
      )
    } assert(changed(mode, change) === alone(changed(mode, change)), mode)
  }
}
