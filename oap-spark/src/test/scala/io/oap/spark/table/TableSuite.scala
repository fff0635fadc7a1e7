package io.oap.spark.table

import java.nio.file.{Files, Path, StandardCopyOption}

import scala.util.Using

import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.execution.ExplainMode

import io.oap.spark.CacheSuite

/** Tables that change: what is read is what is there, as with Spark alone. */
abstract class TableSuite extends CacheSuite {

  /** What stands behind the columns in CREATE TABLE. */
  protected def format: String

  protected def sql(text: String): DataFrame = spark.sql(text)

  private val names = Iterator.from(1).map(i => s"t$i")

  /** A fresh table of 100 rows: id, v and, when it is partitioned, p. */
  private def table(isPartitioned: Boolean): String = {
    val name = names.next()
    sql(
      if (isPartitioned)
        s"CREATE TABLE $name (id BIGINT, v STRING, p INT) $format PARTITIONED BY (p)"
      else s"CREATE TABLE $name (id BIGINT, v STRING, p INT) $format")
    sql(s"INSERT INTO $name SELECT id, concat('v', id), cast(id % 4 as int) FROM range(100)")
    name
  }

  /** Reads a table until it is warm, and checks it. */
  private def warm(name: String): Unit =
    assertServed(sql(s"SELECT * FROM $name"), mayBeEmpty = true)

  /**
   * Changes one table with the cache and its twin without, both having been read, and compares.
   * A change that fails must fail in the same way.
   */
  private def assertSameChange(isPartitioned: Boolean)(change: String => Unit): Unit = {
    def run(name: String): Either[Seq[String], Seq[String]] = {
      rows(sql(s"SELECT * FROM $name"))
      val changed = outcome { change(name); spark.emptyDataFrame }
      if (changed.isLeft) changed else outcome(sql(s"SELECT * FROM $name"))
    }
    val (mine, twin) = (table(isPartitioned), table(isPartitioned))
    warm(mine)
    val expected = alone(run(twin))
    assertOutcome(run(mine), expected, "after the change")
    if (expected.isRight) {
      warm(mine)
    }
  }

  private val changes = Seq[(String, String)](
    "insert from itself" -> "INSERT INTO $t SELECT id + 1000, v, p FROM $t",
    "insert twice from itself" -> "INSERT INTO $t SELECT a.id, b.v, a.p FROM $t a JOIN $t b ON a.id = b.id",
    "overwrite from itself" -> "INSERT OVERWRITE $t SELECT id + 1, v, p FROM $t",
    "overwrite from elsewhere" -> "INSERT OVERWRITE $t SELECT id, 'new', 1 FROM range(10)",
    "truncate" -> "TRUNCATE TABLE $t",
    "add column" -> "ALTER TABLE $t ADD COLUMNS (more DOUBLE)",
    "rename column" -> "ALTER TABLE $t RENAME COLUMN v TO w",
    "delete" -> "DELETE FROM $t WHERE id = 1",
    "update" -> "UPDATE $t SET v = 'x' WHERE id = 1",
    "merge" -> "MERGE INTO $t USING range(3) r ON r.id = $t.id WHEN MATCHED THEN DELETE"
  )

  for ((what, text) <- changes; isPartitioned <- Seq(false, true)) {
    test(s"$what, partitioned $isPartitioned") {
      assertSameChange(isPartitioned)(name => sql(text.replace("$t", name)))
    }
  }

  private val partitionChanges = Seq[(String, String)](
    "overwrite one partition" -> "INSERT OVERWRITE $t PARTITION (p = 1) SELECT id, 'one' FROM range(5)",
    "overwrite one partition from itself" ->
      "INSERT OVERWRITE $t PARTITION (p = 1) SELECT id, v FROM $t WHERE p = 2",
    "add partition" -> "ALTER TABLE $t ADD PARTITION (p = 77)",
    "drop partition" -> "ALTER TABLE $t DROP PARTITION (p = 1)",
    "rename partition" -> "ALTER TABLE $t PARTITION (p = 1) RENAME TO PARTITION (p = 11)",
    "truncate partition" -> "TRUNCATE TABLE $t PARTITION (p = 1)",
    "recover partitions" -> "ALTER TABLE $t RECOVER PARTITIONS"
  )

  for ((what, text) <- partitionChanges) test(what) {
    assertSameChange(isPartitioned = true)(name => sql(text.replace("$t", name)))
  }

  for (change <- Seq(
      "INSERT INTO $t VALUES (1000, 'new', 9)",
      "INSERT OVERWRITE $t PARTITION (p = 1) SELECT id, 'one' FROM range(5)",
      "ALTER TABLE $t DROP PARTITION (p = 2)"
    )) test(s"shown, changed, and then read: $change") {
    def run(): Either[Seq[String], Seq[String]] = {
      val name = table(isPartitioned = true)
      val query = sql(s"SELECT * FROM $name")
      query.queryExecution.explainString(ExplainMode.fromString("formatted"))
      sql(change.replace("$t", name))
      outcome(query)
    }
    assertOutcome(run(), alone(run()), "after the change")
  }

  test("overwrite of the partitions that are written") {
    withConf(
      "spark.sql.sources.partitionOverwriteMode" -> "dynamic",
      "hive.exec.dynamic.partition.mode" -> "nonstrict") {
      for (source <- Seq("range(20)", "$t")) {
        assertSameChange(isPartitioned = true) { name =>
          sql(s"INSERT OVERWRITE $name SELECT id, 'dyn', 2 FROM ${source.replace("$t", name)}")
        }
      }
    }
  }

  private def onlyFile(folder: Path): Path = Using.resource(Files.walk(folder)) { files =>
    files.filter(_.getFileName.toString.startsWith("part-")).findFirst().get()
  }

  test("files that change outside, before and after REFRESH TABLE") {
    def run(): Seq[Either[Seq[String], Seq[String]]] = {
      val name = names.next()
      val location = folder.resolve(s"outside-$name")
      sql("SELECT id, 'a' v FROM range(50)").coalesce(1).write.parquet(location.toString)
      sql(s"CREATE TABLE $name (id BIGINT, v STRING) $format LOCATION '$location'")
      def read: Either[Seq[String], Seq[String]] = outcome(sql(s"SELECT * FROM $name"))
      val before = Seq(read, read)
      val other = folder.resolve(s"other-$name")
      sql("SELECT id, 'bbb' v FROM range(80)").coalesce(1).write.parquet(other.toString)
      val target = onlyFile(location)
      Files.deleteIfExists(target.resolveSibling(s".${target.getFileName}.crc"))
      Files.move(onlyFile(other), target, StandardCopyOption.REPLACE_EXISTING)
      val replaced = outcome(sql(s"SELECT count(*) > 0 FROM $name"))
      sql(s"REFRESH TABLE $name")
      val refreshed = Seq(read, read)
      Files.delete(target)
      val deleted = read
      sql(s"REFRESH TABLE $name")
      before ++ Seq(replaced) ++ refreshed ++ Seq(deleted, read)
    }
    val expected = alone(run())
    run().zip(expected).zipWithIndex.foreach { case ((here, there), i) =>
      assertOutcome(here, there, s"step $i")
    }
  }

  test("drop and create again, same name and same path") {
    val name = names.next()
    for (round <- 1 to 3) {
      val location = folder.resolve(s"again-$name")
      sql(s"CREATE TABLE $name (id BIGINT, v STRING) $format LOCATION '$location'")
      sql(s"INSERT OVERWRITE $name SELECT id, 'round $round' FROM range(20)")
      warm(name)
      assert(rows(sql(s"SELECT DISTINCT v FROM $name")) === Seq(s"[round $round]"))
      sql(s"DROP TABLE $name")
      sql(s"CREATE TABLE $name (id STRING, x INT) $format")
      sql(s"INSERT INTO $name VALUES ('$round', $round)")
      warm(name)
      sql(s"DROP TABLE $name")
    }
  }

  test("create as select, from and over what was read") {
    val source = table(isPartitioned = true)
    warm(source)
    val copy = names.next()
    sql(s"CREATE TABLE $copy $format AS SELECT * FROM $source WHERE p = 1")
    warm(copy)
    assert(
      rows(sql(s"SELECT * FROM $copy")) === alone(rows(sql(s"SELECT * FROM $source WHERE p = 1"))))
  }
}

/** Tables of Spark's own Parquet source. */
class SparkTableSuite extends TableSuite {
  override protected def format: String = "USING parquet"

  test("a path that is read may be appended to, and not be overwritten") {
    val files = path("overwritten")
    for (mode <- Seq("append", "overwrite", "ignore", "error")) {
      def run(): Seq[Either[Seq[String], Seq[String]]] = {
        sql("SELECT id, 'x' v FROM range(30)").write.mode("overwrite").parquet(files)
        def read: DataFrame = spark.read.parquet(files)
        rows(read)
        val written = outcome {
          read.selectExpr("id + 1 as id", "v").write.mode(mode).parquet(files)
          spark.emptyDataFrame
        }
        Seq(written, outcome(read))
      }
      val expected = alone(run())
      run().zip(expected).foreach { case (here, there) => assertOutcome(here, there, mode) }
    }
  }

  test("overwritten paths are read anew") {
    val files = path("anew")
    for (round <- 1 to 5) {
      spark.range(round * 10L).selectExpr(
        "id",
        s"$round as r").write.mode("overwrite").parquet(files)
      assertServed(spark.read.parquet(files))
      assert(spark.read.parquet(files).filter(s"r = $round").count() === round * 10)
    }
  }

  test("a Dataset that runs again after its data has changed") {
    def run(): Seq[Either[Seq[String], Seq[String]]] = {
      val files = path(s"rerun-${System.nanoTime()}")
      spark.range(100).write.parquet(files)
      val data = spark.read.parquet(files)
      val first = Seq(outcome(data), outcome(data.selectExpr("sum(id)")))
      spark.range(500, 700).write.mode("append").parquet(files)
      val appended = Seq(outcome(data), outcome(data.selectExpr("sum(id)")))
      spark.range(7).write.mode("overwrite").parquet(files)
      first ++ appended ++ Seq(outcome(data), outcome(data.selectExpr("sum(id)")))
    }
    val expected = alone(run())
    run().zip(expected).zipWithIndex.foreach { case ((here, there), i) =>
      assertOutcome(here, there, s"step $i")
    }
  }

  test("sessions with different settings, one catalog") {
    sql("CREATE TABLE shared USING parquet AS SELECT id, cast(id as string) s FROM range(1000)")
    def scans(session: SparkSession): Int =
      cachedScans(executed(session.sql("SELECT s FROM shared WHERE id > 10"))).size
    val other = spark.newSession()
    other.conf.set("spark.oap.cache.enabled", "false")
    assert(scans(spark) === 1)
    assert(scans(other) === 0)
    assert(rows(other.table("shared")) === rows(spark.table("shared")))
    other.conf.set("spark.oap.cache.enabled", "true")
    assert(scans(other) === 1)
    other.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    assert(rows(other.table("shared")) === rows(spark.table("shared")))
    other.sql("INSERT INTO shared VALUES (5000, 'late')")
    assert(rows(other.table("shared")).contains("[5000,late]"))
    // This session goes on with the files it has listed.
    assertRows(rows(spark.table("shared")), alone(rows(spark.table("shared"))), "other session")
    sql("REFRESH TABLE shared")
    assert(rows(spark.table("shared")).contains("[5000,late]"))
  }

  test("a value that is not allowed is said clearly") {
    val error =
      intercept[IllegalArgumentException](spark.conf.set("spark.oap.cache.enabled", "maybe"))
    assert(error.getMessage.contains("spark.oap.cache.enabled"))
    assert(error.getMessage.contains("maybe"))
    assert(error.getMessage.contains("true or false"))
    assert(spark.conf.get("spark.oap.cache.enabled") === "true")
    assert(spark.range(3).collect().length === 3)
  }
}
