package io.oap.spark.buildside

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec

import io.oap.spark.CacheControl
import io.oap.spark.iceberg.{AddedFiles, EqualityDeletes, IcebergSuite}

/** Build sides of Iceberg tables are kept until what a query would read is something else. */
class IcebergBuildSideSuite extends IcebergSuite with BuildSideTables with AddedFiles {

  override protected def sql(text: String): DataFrame = spark.sql(text)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
    for (table <- Seq("sales", "items", "brands", "days"))
      sql(s"CREATE TABLE ice.db.$table USING iceberg AS SELECT * FROM $table")
    // The first compaction of a session sets catalogs of Iceberg's own in it, which are part of the key.
    sql("CALL ice.system.rewrite_data_files(table => 'ice.db.brands', " +
      "options => map('rewrite-all', 'true'))").collect()
  }

  private def star(dimension: String, sales: String = "ice.db.sales"): DataFrame = sql(
    s"""SELECT /*+ BROADCAST(d) */ sum(s.id), max(d.name), count(*) FROM $sales s
       |JOIN $dimension d ON s.item = d.brand""".stripMargin)

  /** A small table, with another row for each brand than `brands` has. */
  private def create(table: String, more: String = ""): Unit = {
    sql(s"CREATE TABLE ice.db.$table (brand INT, name STRING, size INT) USING iceberg $more")
    sql(
      s"INSERT INTO ice.db.$table SELECT brand, concat('of ', name), brand * 10 FROM brands"): Unit
  }

  private val mergeOnRead = "'write.delete.mode' = 'merge-on-read', " +
    "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read'"

  for {
    adaptive <- Seq(true, false)
    (name, query) <- Seq(
      "inner" -> "SELECT sum(id), brand FROM ice.db.sales JOIN ice.db.items USING (item) WHERE brand < 3 GROUP BY brand",
      "semi" -> "SELECT id FROM ice.db.sales WHERE item IN (SELECT item FROM ice.db.items WHERE brand = 4)",
      "a join below the broadcast" -> """SELECT sum(s.id), x.name FROM ice.db.sales s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, name FROM ice.db.items i JOIN ice.db.brands b USING (brand)
      WHERE name > 'brand 1') x ON s.item = x.item GROUP BY x.name""",
      "with Parquet tables" -> """SELECT sum(s.id), x.name FROM sales s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, name FROM ice.db.items i JOIN brands b USING (brand)) x
      ON s.item = x.item GROUP BY x.name""",
      "dynamic pruning" -> """SELECT sum(id), month FROM sales JOIN ice.db.days USING (day)
      WHERE month = 1 GROUP BY month"""
    )
  } test(s"rows with a kept side, $name, adaptive $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString)(assertKept(sql(query)))
  }

  test("a shuffle is kept, and written again after each commit") {
    create("shuffled", s"TBLPROPERTIES ('format-version' = '3', $mergeOnRead)")
    assertShufflesFollow(changes("ice.db.shuffled"))(sql(
      """SELECT /*+ MERGE(d) */ sum(s.id), max(d.name), count(*) FROM sales s
      JOIN ice.db.shuffled d ON s.item = d.brand"""))
  }

  for ((mode, version, properties) <- Seq(
      ("copy-on-write", 2, ""),
      ("merge-on-read", 2, s", $mergeOnRead"),
      ("deletion vectors", 3, s", $mergeOnRead")))
    test(s"each commit is seen, and a former state is known again, $mode") {
      val name = s"changes_${mode.take(4)}$version"
      val table = s"ice.db.$name"
      create(name, s"TBLPROPERTIES ('format-version' = '$version'$properties)")
      assertKept(star(table))
      val first = sql(s"SELECT snapshot_id FROM $table.snapshots").head().getLong(0)
      assertEachIsSeen(changes(table) :+ s"DELETE FROM $table WHERE brand = 77")(star(table))
      assertTaken(star(s"$table VERSION AS OF $first"), "a former snapshot")
      sql(s"CALL ice.system.rewrite_data_files(table => 'ice.db.$name', " +
        "options => map('rewrite-all', 'true'))").collect()
      assertBuiltAgain(star(table), "after a compaction")
      sql(s"CALL ice.system.rollback_to_snapshot('ice.db.$name', $first)").collect()
      assertTaken(star(table), "after a rollback")
      sql(s"ALTER TABLE $table SET TBLPROPERTIES ('comment' = 'other')")
      assertBuiltAgain(star(table), "after a change of properties")
    }

  test("equality deletes are seen, and so is which column they compare") {
    create("equal")
    val table = "ice.db.equal"
    assertKept(star(table))
    val first = sql(s"SELECT snapshot_id FROM $table.snapshots").head().getLong(0)
    for ((column, value) <- Seq("brand" -> 1, "size" -> 1, "size" -> 20, "brand" -> 4)) {
      EqualityDeletes.commit(spark, table, column, Seq(value))
      assertBuiltAgain(star(table), s"$column = $value is deleted")
    }
    assert(star(table).head().getLong(2) === 20000 / 100 * 2, "two of five brands are left")
    assertTaken(star(s"$table VERSION AS OF $first"), "the first snapshot")
  }

  test("branches, tags, time travel and increments have their own sides") {
    create("branched")
    val table = "ice.db.branched"
    def snapshot = sql(s"SELECT snapshot_id FROM $table.snapshots ORDER BY committed_at DESC")
      .head().getLong(0)
    val first = snapshot
    sql(s"ALTER TABLE $table CREATE BRANCH other")
    sql(s"ALTER TABLE $table CREATE TAG before")
    assertKept(star(table))
    for (same <- Seq("branch_other", "tag_before")) assertTaken(star(s"$table.$same"), same)
    sql(s"INSERT INTO $table.branch_other VALUES (50, 'z of the branch', 5)")
    assertTaken(star(table), "another branch has changed")
    assertBuiltAgain(star(s"$table.branch_other"), "the branch has changed")
    sql(s"INSERT INTO $table VALUES (60, 'z of main', 6)")
    assertBuiltAgain(star(table), "the table has changed")
    assertTaken(star(s"$table.branch_other"), "the table has changed")
    assertTaken(star(s"$table VERSION AS OF $first"), "the first snapshot")
    assertTaken(star(s"$table.tag_before"), "the tag")
    def added: DataFrame = {
      spark.read.format("iceberg").option("start-snapshot-id", first).load(table)
        .createOrReplaceTempView("added")
      star("added")
    }
    assertBuiltAgain(added, "what was added")
    assertTaken(star(table), "the whole table")
  }

  test("columns that are dropped, added, renamed and wider are other columns") {
    create("evolves")
    val table = "ice.db.evolves"
    def query = sql(s"""SELECT /*+ BROADCAST(d) */ sum(s.id), max(d.name), sum(d.size) AS size
      FROM ice.db.sales s JOIN $table d ON s.item = d.brand""")
    assertKept(query)
    sql(s"ALTER TABLE $table DROP COLUMN size")
    sql(s"ALTER TABLE $table ADD COLUMN size INT")
    assertBuiltAgain(query, "a column of the same name")
    assert(query.head().isNullAt(2))
    sql(s"ALTER TABLE $table ADD COLUMN other STRING")
    assertTaken(query, "a column that is not read")
    sql(s"ALTER TABLE $table RENAME COLUMN name TO former")
    sql(s"ALTER TABLE $table RENAME COLUMN other TO name")
    assertBuiltAgain(query, "a column with another one's name")
    assert(query.head().isNullAt(1))
    sql(s"ALTER TABLE $table ALTER COLUMN size TYPE BIGINT")
    assertBuiltAgain(query, "a wider type")
    sql(s"ALTER TABLE $table ADD PARTITION FIELD brand")
    assertTaken(query, "a partition specification without files")
    sql(s"INSERT INTO $table SELECT brand + 20, 'z', 1, 'z' FROM brands")
    assertBuiltAgain(query, "files of another specification")
  }

  test("a table that is made again at one place is another one") {
    create("again")
    assertKept(star("ice.db.again"))
    sql("DROP TABLE ice.db.again PURGE")
    sql("CREATE TABLE ice.db.again (brand INT, name STRING, size INT) USING iceberg")
    sql("INSERT INTO ice.db.again SELECT brand + 5, concat('of ', name), 1 FROM brands")
    assertBuiltAgain(star("ice.db.again"), "made again")
    sql("CREATE OR REPLACE TABLE ice.db.again USING iceberg AS SELECT brand + 7 AS brand, name FROM brands")
    assertBuiltAgain(star("ice.db.again"), "replaced")
  }

  test("a file that is written anew where it lies and added again is another one") {
    createForAdded("added")
    addAnew("added", "id * 3", withIds = true)
    assertKept(star("ice.db.added"))
    addAnew("added", "id * 7", withIds = true)
    assertBuiltAgain(star("ice.db.added"), "added again")
  }

  test("what another writer commits is seen when Spark alone sees it") {
    create("shared")
    assertKept(star("ice.db.shared"))
    val before = rows(star("ice.db.shared"))
    val writer = Spark3Util.loadIcebergTable(spark.newSession(), "ice.db.shared")
    writer.newDelete().deleteFromRowFilter(
      org.apache.iceberg.expressions.Expressions.alwaysTrue()).commit()
    assertRows(rows(star("ice.db.shared")), alone(rows(star("ice.db.shared"))), "before REFRESH")
    sql("REFRESH TABLE ice.db.shared")
    assertRows(rows(star("ice.db.shared")), alone(rows(star("ice.db.shared"))), "after REFRESH")
    assert(rows(star("ice.db.shared")) !== before)
  }

  test("partitions are part of what is read") {
    sql("CREATE TABLE ice.db.parts (brand INT, name STRING, p STRING) USING iceberg PARTITIONED BY (p)")
    sql("INSERT INTO ice.db.parts SELECT brand, name, IF(brand = 0, NULL, string(brand % 2)) FROM brands")
    assertKept(star("ice.db.parts"))
    for (condition <- Seq("p = '1'", "p = '0'", "p IS NULL", "p IS NOT NULL")) {
      def query = star(s"(SELECT * FROM ice.db.parts WHERE $condition)")
      assertBuiltAgain(query, condition)
    }
  }

  test("a side is kept whose scan drops rows by the keys of a join in the side") {
    def query = sql("""SELECT sum(s.id), x.name FROM ice.db.sales s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, name FROM ice.db.items i JOIN ice.db.brands b USING (brand)
      WHERE b.name > 'brand 2') x ON s.item = x.item GROUP BY x.name""")
    CacheControl.clear(spark)
    val ran = query
    assertRows(rows(ran), alone(rows(query)), "cold run")
    assert(filtered(ran).nonEmpty, "the scan has no join keys")
    assert(sides.sides === 2)
    assert(asked(rows(query)) === ((2, 0)))
  }

  test("a side is not kept whose scan is pruned by a join above it") {
    sql(
      "CREATE TABLE ice.db.pruned (brand INT, name STRING, p INT) USING iceberg PARTITIONED BY (p)")
    sql("INSERT INTO ice.db.pruned SELECT item, code, brand FROM items")
    sql("CREATE TABLE ice.db.tags (p INT, tag STRING) USING iceberg")
    sql("INSERT INTO ice.db.tags VALUES (0, 'a'), (1, 'b'), (2, 'b'), (3, 'c')")
    for (tag <- Seq("a", "b", "c", "a")) {
      def query = sql(s"""SELECT /*+ BROADCAST(x), BROADCAST(t) */ count(*), max(x.name)
        FROM ice.db.sales s JOIN ice.db.pruned x ON s.item = x.brand
        JOIN ice.db.tags t ON x.p = t.p WHERE t.tag = '$tag'""")
      val ran = query
      assertRows(rows(ran), alone(rows(query)), tag)
      assert(filtered(ran).nonEmpty, "the scan is not pruned")
      assert(collect(executed(ran)) { case own: BroadcastExchangeExec => own }.size === 1)
    }
  }

  /** The scans of a query that a join filters. */
  private def filtered(query: DataFrame): Seq[BatchScanExec] =
    collectWithSubqueries(executed(query)) {
      case scan: BatchScanExec if scan.runtimeFilters.nonEmpty => scan
    }

  test("nothing is kept of Iceberg's own columns, metadata tables and changelogs") {
    create("own")
    sql("CALL ice.system.create_changelog_view(table => 'ice.db.own', changelog_view => 'own_changes')")
    for (dimension <- Seq(
        "(SELECT brand, name, _file FROM ice.db.own WHERE _file > '')",
        "(SELECT brand, name, _pos FROM ice.db.own WHERE _pos >= 0)",
        "(SELECT CAST(record_count AS INT) AS brand, file_format AS name FROM ice.db.own.files)",
        "own_changes"
      )) withClue(dimension)(assertNotKept(star(dimension)))
    withConf("spark.oap.buildsides.enabled" -> "false")(assertNotKept(star("ice.db.own")))
    withConf("spark.sql.files.ignoreMissingFiles" -> "true")(assertNotKept(star("ice.db.own")))
  }

  test("sessions share what is kept, and clear forgets it") {
    CacheControl.clear(spark)
    rows(star("ice.db.brands"))
    val other = spark.newSession()
    assert(asked(rows(other.sql(
      "SELECT /*+ BROADCAST(d) */ max(s.id) FROM ice.db.sales s JOIN ice.db.brands d " +
        "ON s.item = d.brand WHERE d.name > ''"))) === ((0, 1)))
    assert(sides.sides === 2)
    sql("CALL oap.system.clear()").collect()
    assert(sides.sides === 0)
  }
}
