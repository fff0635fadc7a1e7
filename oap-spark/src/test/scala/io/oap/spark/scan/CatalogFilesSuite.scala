package io.oap.spark.scan

import java.nio.file.Files

import scala.util.Random

import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileIndex,
  HadoopFsRelation,
  InMemoryFileIndex,
  LogicalRelation
}

import io.oap.spark.{CacheSuite, UnloggedFailures}

/** Indexes of catalog tables are given again, but never one that Spark would not make now. */
class CatalogFilesSuite extends CacheSuite with UnloggedFailures {
  private val Steps = 25
  private val Parts = CatalogFiles.FewestPartitions + 4
  private val ChangedParts = 5

  private def sql(text: String): DataFrame = spark.sql(text)

  private def create(table: String, format: String = "parquet"): Unit = {
    sql(s"CREATE TABLE $table (id BIGINT, part INT) USING $format PARTITIONED BY (part)")
    insert(table): Unit
  }

  private def insert(table: String): DataFrame =
    sql(s"INSERT INTO $table SELECT id, explode(sequence(1, $Parts)) FROM range(0, 4, 1, 1)")

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

  private def relations(query: DataFrame): Seq[HadoopFsRelation] =
    query.queryExecution.optimizedPlan.collect {
      case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files
    }

  /** Spark's own index of a table, which stays until the table is refreshed. */
  private def indexInCatalog(table: String): CatalogFileIndex =
    sql(s"SELECT * FROM $table").queryExecution.analyzed.collectFirst {
      case LogicalRelation(HadoopFsRelation(index: CatalogFileIndex, _, _, _, _, _), _, _, _, _) =>
        index
    }.get

  test("an index is given again, to other names of the table, too") {
    create("again")
    val index = remembered(all("again"))
    assert(index.getClass.getSimpleName === classOf[InMemoryFileIndex].getSimpleName)
    assert(indexOf(sql("SELECT id FROM again AS other WHERE part IS NOT NULL")) eq index)
    assert(indexOf(sql("SELECT id FROM again WHERE part > 0")) ne index)
  }

  test("an index of few partitions is made again") {
    create("few")
    def few = sql(s"SELECT id FROM few WHERE part < ${CatalogFiles.FewestPartitions}")
    few.collect()
    assert(indexOf(few) ne indexOf(few))
  }

  test("an index of a table that Spark reads in V1 is given again") {
    create("lines", "json")
    remembered(all("lines"))
    insert("lines")
    assertSame(all("lines"), "after INSERT")
  }

  test("relations that stay Spark's are as without the cache") {
    create("stays", "json")
    for (query <- Seq("SELECT * FROM stays", "SELECT * FROM stays WHERE part > 3")) {
      val (here, there) = (relations(sql(query)), alone(relations(sql(query))))
      assert(here.map(_.options) === there.map(_.options))
      assert(here.map(_.location.getClass.getSimpleName) ===
        there.map(_.location.getClass.getSimpleName))
    }
  }

  test("an index of a subclass is asked itself") {
    create("skips")
    val index = indexInCatalog("skips")
    val fewer = new CatalogFileIndex(spark, index.table, index.sizeInBytes) {
      override def filterPartitions(filters: Seq[Expression]): InMemoryFileIndex =
        throw new UnsupportedOperationException
    }
    assert(CatalogFiles.of(spark, index) ne index)
    assert(CatalogFiles.of(spark, fewer) eq fewer)
  }

  test("values of partitions are those of the session's time zone") {
    sql("CREATE TABLE moments (id BIGINT, at TIMESTAMP) USING parquet PARTITIONED BY (at)")
    sql(
      s"INSERT INTO moments SELECT id, timestamp_seconds(1600000000 + id * 3600) FROM range($Parts)")
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

  test("a folder whose name is no value of the column is null or an error, as the session says") {
    create("folders")
    Files.createDirectories(folder.resolve("warehouse/folders/part=none"))
    sql("INSERT INTO folders VALUES (1, 1)")
    sql("ALTER TABLE folders RECOVER PARTITIONS")
    for (isAnsi <- Seq("false", "true", "false"))
      withConf("spark.sql.ansi.enabled" -> isAnsi) {
        for (_ <- 1 to 3)
          assertSameOutcome(sql("SELECT part, count(*) FROM folders GROUP BY part"))
      }
  }

  test("files that others add are seen after a refresh, as by Spark alone") {
    create("others")
    def refreshIndex() = indexInCatalog("others").refresh()
    for (refresh <- Seq(() => sql("REFRESH TABLE others"), () => refreshIndex())) {
      remembered(all("others"))
      val before = rows(all("others"))
      spark.range(100, 110, 1, 1).write.mode("append")
        .parquet(s"${path("warehouse")}/others/part=1")
      assert(rows(all("others")) === before)
      assertSame(all("others"), "before a refresh")
      refresh()
      assert(rows(all("others")).size === before.size + 10)
      assertSame(all("others"), "after a refresh")
    }
  }

  test("whatever changes a table is seen") {
    val seed = System.nanoTime()
    info(s"seed $seed")
    val random = new Random(seed)
    create("changes")
    // Its changes leave the lists of files as they are, and some of these files are gone then.
    val other = spark.newSession()
    def part = random.nextInt(ChangedParts)
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
      val session = if (random.nextBoolean()) spark else other
      try session.sql(change)
      catch { case _: AnalysisException => () } // there is no such partition
      for (run <- 1 to 2) {
        val clue = s"seed $seed, step $step, $change, run $run"
        val least = random.nextInt(3)
        for (query <- Seq(
            "SELECT * FROM changes WHERE part IS NOT NULL",
            "SELECT part, count(*) FROM changes GROUP BY part",
            s"SELECT * FROM changes WHERE part > $least"))
          assertOutcome(outcome(sql(query)), alone(outcome(sql(query))), s"$clue: $query")
      }
      if (outcome(all("changes")).isRight) remembered(all("changes"))
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
