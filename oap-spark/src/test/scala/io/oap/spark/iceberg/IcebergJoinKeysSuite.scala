package io.oap.spark.iceberg

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.execution.{InSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.cache.stats.Figure
import io.oap.spark.JoinKeyTests

/** Join keys in the scans of Iceberg tables: which scans get them, and that rows stay right. */
class IcebergJoinKeysSuite extends IcebergSuite with FlatIcebergTables with JoinKeyTests {

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

  override protected val facts: String = "ice.db.facts"

  override protected val days: String = "ice.db.days"

  override protected val items: String = "ice.db.items"

  override protected def assertRead(query: => DataFrame): Unit = assertFlat(query)

  override protected def keys(query: DataFrame): Seq[String] = keysOf(executed(query))

  private def keysOf(plan: SparkPlan): Seq[String] =
    collectWithSubqueries(plan) { case scan: BatchScanExec => scan.runtimeFilters }.flatten
      .collect { case DynamicPruningExpression(InSubqueryExec(column, _, _, _, _, _)) =>
        column.references.head.name
      }.sorted

  private def dropped(query: => DataFrame): Long =
    counting(rows(query))._2.get(Figure.ROWS_DROPPED)

  test("a star join drops rows in the scan") {
    assertFlat(star())
    assert(dropped(star()) > 19000)
    withConf("spark.oap.cache.representation" -> "encoded")(assert(dropped(star()) > 19000))
  }

  test("days around the change of calendars") {
    def days = sql("SELECT f.item_sk, d.month FROM ice.db.facts f JOIN ice.db.days d " +
      "ON f.day = d.day WHERE d.day_sk < 8")
    assertFlat(days)
    assert(keys(days) === Seq("day"))
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
