package io.oap.spark.buildside

import org.apache.spark.sql.DataFrame

import io.oap.spark.{CacheControl, ExtendedTest}
import io.oap.spark.delta.DeltaScanSuite

/** Build sides of V1 scans, above all of Delta, are kept until they would have other rows. */
@ExtendedTest
class DeltaBuildSideSuite extends DeltaScanSuite with BuildSideTables {

  override protected def sql(text: String): DataFrame = spark.sql(text)

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
    for (table <- Seq("sales", "items", "brands", "days"))
      sql(s"CREATE TABLE ${table}_delta USING delta AS SELECT * FROM $table")
  }

  /** Its facts are Parquet's, which are planned sooner than Delta's. */
  private def star(dimension: String): DataFrame = sql(
    s"""SELECT /*+ BROADCAST(d) */ sum(s.id), max(d.name), count(*) FROM sales s
       |JOIN $dimension d ON s.item = d.brand""".stripMargin)

  private def create(table: String, properties: String): String = {
    val where = s"delta.`${watched(table)}`"
    sql(s"CREATE TABLE $where (brand INT, name STRING, size INT) USING delta TBLPROPERTIES ($properties)")
    sql(s"INSERT INTO $where SELECT brand, concat('of ', name), brand * 10 FROM brands")
    where
  }

  for {
    adaptive <- Seq(true, false)
    (name, query) <- Seq(
      "inner" -> "SELECT sum(id), brand FROM sales_delta JOIN items_delta USING (item) WHERE brand < 3 GROUP BY brand",
      "a join below the broadcast" -> """SELECT sum(s.id), x.name FROM sales_delta s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, name FROM items_delta i JOIN brands_delta b USING (brand)
      WHERE name > 'brand 1') x ON s.item = x.item GROUP BY x.name""",
      "with Parquet tables" -> """SELECT sum(s.id), x.name FROM sales s JOIN
      (SELECT /*+ BROADCAST(b) */ i.item, name FROM items_delta i JOIN brands b USING (brand)) x
      ON s.item = x.item GROUP BY x.name"""
    )
  } test(s"rows with a kept side, $name, adaptive $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString)(assertKept(sql(query)))
  }

  for (vectors <- Seq(true, false))
    test(s"each commit and former versions are seen, deletion vectors $vectors") {
      val table = create(s"changes $vectors", s"'delta.enableDeletionVectors' = '$vectors'")
      assertKept(star(table))
      val (first, rest) = changes(table).splitAt(2)
      // Two deletions in a row, so that a deletion vector follows another one.
      assertEachIsSeen(
        first ++ Seq(s"DELETE FROM $table WHERE brand = 4") ++ rest :+ s"OPTIMIZE $table")(star(
        table))
      // It has the files of the first state, and they have not changed.
      assertTaken(star(s"$table VERSION AS OF 1"), "a former version")
      sql(s"RESTORE TABLE $table TO VERSION AS OF 1")
      assertTaken(star(table), "after RESTORE")
      sql(s"ALTER TABLE $table SET TBLPROPERTIES ('own' = 'other')")
      assertBuiltAgain(star(table), "after a change of properties")
    }

  test("a shuffle is kept, and written again after each commit") {
    val table = create("shuffled", "'delta.enableDeletionVectors' = 'true'")
    assertShufflesFollow(changes(table))(sql(
      s"SELECT /*+ MERGE(d) */ sum(s.id), max(d.name), count(*) FROM sales s JOIN $table d ON s.item = d.brand"))
  }

  test("columns that are dropped, added and renamed are other columns") {
    val table = create(
      "evolves",
      "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'")
    def query = sql(s"""SELECT /*+ BROADCAST(d) */ sum(s.id), max(d.name), sum(d.size) AS size
      FROM sales_delta s JOIN $table d ON s.item = d.brand""")
    assertKept(query)
    sql(s"ALTER TABLE $table DROP COLUMN size")
    sql(s"ALTER TABLE $table ADD COLUMN size INT")
    assertBuiltAgain(query, "a column of the same name")
    assert(query.head().isNullAt(2))
    sql(s"ALTER TABLE $table ADD COLUMN other STRING")
    sql(s"ALTER TABLE $table RENAME COLUMN name TO former")
    sql(s"ALTER TABLE $table RENAME COLUMN other TO name")
    assertBuiltAgain(query, "a column with another one's name")
    assert(query.head().isNullAt(1))
  }

  test("a table that is made again at one place is another one") {
    val table = create("again", "'own' = '1'")
    assertKept(star(table))
    sql(
      s"CREATE OR REPLACE TABLE $table USING delta AS SELECT brand + 7 AS brand, name FROM brands")
    assertBuiltAgain(star(table), "replaced")
  }

  test("partitions are part of what is read") {
    sql(
      "CREATE TABLE parts (brand INT, name STRING, p INT, q INT) USING delta PARTITIONED BY (p, q)")
    sql("INSERT INTO parts SELECT brand, name, brand % 2, brand % 3 FROM brands")
    assertKept(star("parts"))
    for (condition <- Seq("p = 1", "q = 1", "p = q", "p IS NOT NULL AND q >= 0"))
      assertBuiltAgain(star(s"(SELECT * FROM parts WHERE $condition)"), condition)
    for (column <- Seq("p", "q"))
      assertBuiltAgain(
        sql(s"SELECT /*+ BROADCAST(d) */ sum(s.id) FROM sales_delta s JOIN parts d ON s.item = d.$column"),
        column)
  }

  test("a clone has the files of its table, and changes by itself") {
    val table = create("cloned", "'delta.enableDeletionVectors' = 'true'")
    val clone = s"delta.`${watched("clone")}`"
    sql(s"CREATE TABLE $clone SHALLOW CLONE $table")
    assertKept(star(table))
    assertBuiltAgain(star(clone), "the clone")
    assertEachIsSeen(Seq(s"DELETE FROM $clone WHERE brand = 1"))(star(clone))
    assertTaken(star(table), "the clone has changed")
    assertEachIsSeen(Seq(s"DELETE FROM $table WHERE brand = 2"))(star(table))
    assertTaken(star(clone), "the table has changed")
  }

  test("a version whose files VACUUM has removed is lost as it is without the cache") {
    val table = create("vacuumed", "'delta.enableDeletionVectors' = 'false'")
    assertKept(star(table))
    assertKept(star(s"$table VERSION AS OF 1"))
    val former = rows(star(s"$table VERSION AS OF 1"))
    sql(s"UPDATE $table SET name = 'zz' WHERE brand >= 0")
    assertBuiltAgain(star(table), "all rows are written again")
    withConf("spark.databricks.delta.retentionDurationCheck.enabled" -> "false")(
      sql(s"VACUUM $table RETAIN 0 HOURS").collect())
    assertTaken(star(table), "the files of the table are there")
    val expected = alone(outcome(star(s"$table VERSION AS OF 1")))
    assert(expected.isLeft, "Spark alone still finds the files")
    assertRows(
      rows(star(s"$table VERSION AS OF 1")),
      former,
      "chunks of files that were there lately")
    CacheControl.clear(spark)
    assertOutcome(outcome(star(s"$table VERSION AS OF 1")), expected, "a former version")
  }

  test("what has changed between versions is no build side") {
    val table = create("feed", "'delta.enableChangeDataFeed' = 'true'")
    sql(s"DELETE FROM $table WHERE brand = 1")
    assertNotKept(star(
      s"(SELECT brand, name FROM table_changes_by_path('${watched("feed")}', 1) WHERE _change_type = 'delete')"))
  }

  test("ORC files and buckets are asked for, too") {
    sql("CREATE TABLE orc_brands USING orc AS SELECT * FROM brands")
    sql("CREATE TABLE bucket_brands USING parquet CLUSTERED BY (brand) INTO 2 BUCKETS AS SELECT * FROM brands")
    for (table <- Seq("orc_brands", "bucket_brands")) {
      assertKept(star(table))
      sql(s"INSERT INTO $table VALUES (77, 'z last')")
      assertBuiltAgain(star(table), table)
    }
  }

  test("nothing is kept of metadata columns, nor where files may be missing") {
    val table = create("own", "'own' = '1'")
    sql(s"UPDATE $table SET name = 'zz' WHERE brand = 2")
    assertNotKept(star(
      s"(SELECT brand, _metadata.file_name AS name FROM $table WHERE _metadata.file_name > '')"))
    withConf("spark.sql.files.ignoreMissingFiles" -> "true")(assertNotKept(star(table)))
    withConf("spark.oap.buildsides.enabled" -> "false")(assertNotKept(star(table)))
  }
}
