package io.oap.spark.scan

import scala.util.Random

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{FileIndex, InMemoryFileIndex}

import io.oap.spark.CacheSuite

/** Indexes of catalog tables are given again, but never one that Spark would not make now. */
class CatalogFilesSuite extends CacheSuite {
  private val Steps = 30
  private val Parts = 5

  private def sql(text: String): DataFrame = spark.sql(text)

  private def create(table: String, format: String = "parquet"): Unit = {
    sql(s"CREATE TABLE $table (id BIGINT, part INT) USING $format PARTITIONED BY (part)")
    insert(table, 0, 1, 2): Unit
  }

  private def insert(table: String, parts: Int*): DataFrame =
    sql(s"INSERT INTO $table SELECT id, explode(array(${parts.mkString(", ")})) FROM range(10)")

  private def all(table: String) = sql(s"SELECT * FROM $table WHERE part IS NOT NULL")

  private def indexOf(query: DataFrame): FileIndex = {
    val plan = executed(query)
    cachedScans(plan).map(_.fileIndex).headOption.getOrElse(collectFirst(plan) {
      case scan: FileSourceScanExec => scan.relation.location
    }.get)
  }

  /** The index that a query has when it is asked often; it is given again. */
  private def remembered(query: => DataFrame): FileIndex = {
    query.collect() // lists the files
    val index = indexOf(query)
    assert(indexOf(query) eq index, "an index was made again")
    index
  }

  private def assertSame(query: => DataFrame, clue: String): Unit =
    assertRows(rows(query), alone(rows(query)), clue)

  test("an index is given again") {
    create("again")
    val index = remembered(all("again"))
    assert(index.getClass.getSimpleName === classOf[InMemoryFileIndex].getSimpleName)
    assert(indexOf(sql("SELECT id FROM again AS other WHERE part > 0")) ne index)
    sql("REFRESH TABLE again")
    assert(indexOf(all("again")) ne index)
  }

  test("an index of a table that Spark reads in V1 is given again") {
    create("lines", "json")
    remembered(all("lines"))
    insert("lines", 0, 7)
    assertSame(all("lines"), "after INSERT")
  }

  test("values of partitions are those of the session's time zone") {
    sql("CREATE TABLE moments (id BIGINT, at TIMESTAMP) USING parquet PARTITIONED BY (at)")
    sql("INSERT INTO moments VALUES (1, TIMESTAMP'2020-01-01 00:00:00'), (2, TIMESTAMP'2021-06-01 12:00:00')")
    def moments = sql("SELECT id, unix_micros(at) FROM moments WHERE at IS NOT NULL")
    val zones = Seq("UTC", "Asia/Tokyo", "UTC").map { zone =>
      withConf("spark.sql.session.timeZone" -> zone) {
        remembered(moments)
        assertSame(moments, zone)
        rows(moments)
      }
    }
    assert(zones.toSet.size === 2)
  }

  test("files that others add are seen after a refresh, as by Spark alone") {
    create("others")
    remembered(all("others"))
    val folder = s"${path("warehouse")}/others/part=0"
    spark.range(100, 110, 1, 1).write.mode("append").parquet(folder)
    assertSame(all("others"), "before a refresh")
    for (refresh <- Seq(
        () => sql("REFRESH TABLE others"),
        () => spark.catalog.refreshByPath(s"${path("warehouse")}/others"))) {
      spark.range(100, 110, 1, 1).write.mode("append").parquet(folder)
      refresh()
      assertSame(all("others"), "after a refresh")
    }
  }

  test("whatever changes a table is seen") {
    val seed = System.nanoTime()
    info(s"seed $seed")
    val random = new Random(seed)
    create("changes")
    def part = random.nextInt(Parts)
    val changes = Seq[() => String](
      () => s"INSERT INTO changes SELECT id, $part FROM range(${random.nextInt(5) + 1})",
      () => s"INSERT OVERWRITE changes PARTITION (part = $part) SELECT id FROM range(3)",
      () => s"ALTER TABLE changes DROP IF EXISTS PARTITION (part = $part)",
      () => s"ALTER TABLE changes ADD IF NOT EXISTS PARTITION (part = $part)",
      () => s"TRUNCATE TABLE changes PARTITION (part = $part)",
      () => s"ALTER TABLE changes PARTITION (part = $part) SET LOCATION '${elsewhere(random)}'",
      () => "REFRESH TABLE changes",
      () => "ALTER TABLE changes RECOVER PARTITIONS"
    )
    for (step <- 1 to Steps) {
      val change = changes(random.nextInt(changes.size))()
      try sql(change)
      catch { case _: AnalysisException => () } // there is no such partition
      for (run <- 1 to 3) {
        val clue = s"seed $seed, step $step, $change, run $run"
        val least = random.nextInt(Parts)
        assertSame(all("changes"), clue)
        assertSame(sql("SELECT part, count(*) FROM changes GROUP BY part"), clue)
        assertSame(sql(s"SELECT * FROM changes WHERE part > $least"), clue)
      }
    }
  }

  /** One of some folders with other rows. */
  private def elsewhere(random: Random): String = {
    val number = random.nextInt(3)
    val place = path(s"elsewhere-$number")
    spark.range(1000L * (number + 1), 1000L * (number + 1) + 4, 1, 1).toDF("id")
      .write.mode("ignore").parquet(place)
    place
  }
}
