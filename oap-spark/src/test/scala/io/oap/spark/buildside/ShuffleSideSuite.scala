package io.oap.spark.buildside

import java.io.File
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.functions.udf
import org.scalatest.concurrent.Eventually

import io.oap.spark.{CacheControl, CacheSuite}

/** Shuffles of tables are kept from query to query, and rows are those of Spark alone. */
class ShuffleSideSuite extends CacheSuite with BuildSideTables {

  override protected def settings: Map[String, String] =
    super.settings + ("spark.sql.autoBroadcastJoinThreshold" -> "-1")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  private def shuffles(query: DataFrame): Seq[KeptShuffleExec] =
    collectWithSubqueries(executed(query)) { case shuffle: KeptShuffleExec => shuffle }

  /** Files of shuffles on the disk of this process. */
  private def shuffleFiles: Seq[File] =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles()
      .filter(_.getName.startsWith("shuffle_"))

  /** Asserts equal rows alone, with shuffles that are written, and with those that are kept of them. */
  private def assertShuffled(query: => DataFrame): Unit = {
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    val (_, written) = askedShuffles(assertRows(rows(query), expected, "cold run"))
    assert(written > 0 && figures(kept.shuffles).sides > 0, "no shuffle was kept")
    val (hits, misses) = askedShuffles(assertRows(rows(query), expected, "second run"))
    assert(hits > 0 && misses === 0)
  }

  /** Asserts equal rows of a query of which no shuffle is kept. */
  private def assertNotShuffled(query: => DataFrame): Unit = {
    val expected = alone(outcome(query))
    CacheControl.clear(spark)
    for (run <- Seq("first run", "second run")) assertOutcome(outcome(query), expected, run)
    assert(figures(kept.shuffles).sides === 0)
  }

  private val joined =
    "SELECT sum(id), brand FROM sales JOIN items USING (item) WHERE brand < 3 GROUP BY brand"

  private val queries = Seq(
    "one integer" -> joined,
    "two keys" -> """SELECT s.id, i.brand FROM sales s JOIN items i
      ON s.item = i.item AND s.code = i.code WHERE i.brand = 2""",
    "a string" -> "SELECT s.id, i.made FROM sales s JOIN items i ON s.code = i.code",
    "outer" ->
      "SELECT s.id, i.code FROM sales s LEFT JOIN (SELECT * FROM items WHERE brand = 1) i USING (item)",
    "full outer" -> """SELECT s.id, i.code FROM (SELECT * FROM sales WHERE day = 1) s
      FULL JOIN items i ON s.id = i.item""",
    "semi" -> "SELECT id FROM sales WHERE item IN (SELECT item FROM items WHERE brand = 4)",
    "anti" ->
      "SELECT id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.item = s.item AND brand > 0)",
    "with rows of an aggregate" -> """SELECT t.total, i.code FROM items i JOIN
      (SELECT item, sum(id) total FROM sales GROUP BY item) t USING (item)""",
    "hashed" -> "SELECT /*+ SHUFFLE_HASH(i) */ s.id, i.code FROM sales s JOIN items i USING (item)",
    "of a window" -> "SELECT item, rank() OVER (PARTITION BY brand ORDER BY made) FROM items",
    "twice in one query" -> s"$joined UNION ALL $joined",
    "with itself" -> "SELECT a.id, b.id FROM sales a JOIN sales b ON a.id = b.item",
    "computed columns" -> """SELECT sum(s.id) FROM sales s JOIN
      (SELECT item * 2 AS twice, upper(code) AS code FROM items WHERE code LIKE '1%') i ON s.item = i.twice"""
  )

  for ((name, query) <- queries)
    test(s"rows with a kept shuffle, $name")(assertShuffled(sql(query)))

  private val adaptive = Seq[(String, Map[String, String], AQEShuffleReadExec => Boolean)](
    (
      "split",
      Map(
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "1",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "0",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "1000",
        "spark.sql.files.maxPartitionBytes" -> "20000"
      ),
      _.hasSkewedPartition),
    ("put together", Map("spark.sql.shuffle.partitions" -> "7"), _.hasCoalescedPartition),
    (
      "read where they lie",
      Map("spark.sql.adaptive.autoBroadcastJoinThreshold" -> "1m"),
      _.isLocalRead)
  )

  for ((name, settings, isSo) <- adaptive)
    test(s"partitions of a kept shuffle are $name as those of a shuffle of the query") {
      withConf(settings.toSeq: _*) {
        def query = sql("SELECT s.id, i.code FROM sales s JOIN items i ON s.code = i.code")
        assertShuffled(query)
        val reads = collect(executed(query)) { case read: AQEShuffleReadExec => read }
        assert(reads.exists(isSo))
      }
    }

  test("a kept shuffle is told as one of the query, and its table is not read") {
    CacheControl.clear(spark)
    def told = shuffles(sql(joined)).map { shuffle =>
      val scan = collect(shuffle.child) { case plan if plan.children.isEmpty => plan }
      (
        shuffle.longMetric("keptBuildSides").value,
        scan.map(_.metrics("numOutputRows").value).sum,
        shuffle.runtimeStatistics,
        shuffle.numMappers,
        shuffle.numPartitions,
        shuffle.shuffleId)
    }
    val first = told
    assert(first.size === 2)
    assert(first.forall { case (isKept, read, statistics, _, _, id) =>
      isKept == 0 && id == -1 && statistics.rowCount.exists(rows => rows > 0 && rows <= read)
    })
    assert(told === first.map(_.copy(_1 = 1L, _2 = 0L)))
  }

  test("a plan that is not adaptive takes what is kept, and keeps nothing") {
    CacheControl.clear(spark)
    val expected = alone(rows(sql(joined)))
    withConf("spark.sql.adaptive.enabled" -> "false") {
      assert(askedShuffles(assertRows(rows(sql(joined)), expected, "first")) === ((0, 2)))
      assert(askedShuffles(assertRows(rows(sql(joined)), expected, "second")) === ((0, 2)))
    }
    rows(sql(joined))
    withConf("spark.sql.adaptive.enabled" -> "false")(
      assert(askedShuffles(assertRows(rows(sql(joined)), expected, "third")) === ((2, 0))))
  }

  test("nothing is kept of what may come out in another way, or holds on to more than files") {
    spark.udf.register("half", udf((x: Int) => x / 2))
    def query(side: String) =
      sql(s"SELECT s.total, i.item FROM $side i JOIN (SELECT max(id) total, item FROM sales GROUP BY item) s USING (item)")
    for (side <- Seq(
        "(SELECT * FROM items WHERE rand(7) < 0.9)",
        "(SELECT * FROM items WHERE half(brand) = 1)",
        "(SELECT half(item) AS item FROM items)",
        "(SELECT * FROM items WHERE brand = (SELECT max(brand) FROM brands))",
        "(SELECT * FROM items WHERE input_file_name() > '')",
        "(SELECT item, max(brand) FROM items GROUP BY item)",
        "(SELECT /*+ BROADCAST(b) */ i.item FROM items i JOIN brands b USING (brand))"
      )) withClue(side)(assertNotShuffled(query(side)))
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true")(assertNotShuffled(query("items")))
    withConf("spark.oap.buildsides.enabled" -> "false")(assertNotShuffled(query("items")))
    assertNotShuffled(sql("SELECT /*+ REPARTITION(3, item) */ item FROM items"))
  }

  test(
    "equal keys are needed: a shuffle of other columns, conditions, keys or partitions is not given") {
    CacheControl.clear(spark)
    val base = "SELECT i.item, i.code, s.total FROM items i JOIN" +
      " (SELECT item, max(code) code, max(id) total FROM sales GROUP BY item) s"
    for (rest <- Seq(
        "ON s.item = i.item WHERE i.brand = 1",
        "ON s.item = i.item WHERE i.brand = 2",
        "ON s.item = i.item + 1 WHERE i.brand = 2",
        "ON s.code = i.code WHERE i.brand = 2",
        "ON s.code = i.code AND s.item = i.item WHERE i.brand = 2"
      )) withClue(rest) {
      val query = s"$base $rest"
      assert(askedShuffles(assertRows(rows(sql(query)), alone(rows(sql(query))), rest)) === ((
        0,
        1)))
      withConf("spark.sql.shuffle.partitions" -> "3")(
        assert(askedShuffles(assertRows(rows(sql(query)), alone(rows(sql(query))), rest)) === ((
          0,
          1))))
    }
    withConf("spark.sql.ansi.enabled" -> "false")(
      assert(askedShuffles(rows(sql(s"$base ON s.item = i.item WHERE i.brand = 1"))) === ((0, 1))))
  }

  test("rows that are inserted are seen") {
    sql("CREATE TABLE grows USING parquet AS SELECT * FROM items")
    assertShufflesFollow(Seq(
      "INSERT INTO grows SELECT item + 1, 'new', brand, made FROM items",
      "INSERT OVERWRITE grows SELECT item, concat('other ', code), brand, made FROM items"
    ))(sql("SELECT s.id, g.code FROM sales s JOIN grows g USING (item)"))
  }

  test("Spark removes the files of what is forgotten, and not those of what is kept") {
    CacheControl.clear(spark)
    val others = shuffleFiles.toSet
    def own = shuffleFiles.filterNot(others)
    def ids = own.map(_.getName.split('_')(1)).toSet
    // With this key Spark removes the shuffles of what is written.
    withConf("spark.sql.classic.shuffleDependency.fileCleanup.enabled" -> "true") {
      def write(): Unit = sql(joined).write.format("noop").mode("overwrite").save()
      withConf("spark.sql.adaptive.enabled" -> "false")(write())
      Eventually.eventually(soon)(assert(ids.isEmpty, "nobody keeps them"))
      write()
      Eventually.eventually(soon)(assert(ids.size === 2, "without that of the aggregate"))
      val kept = ids
      assert(askedShuffles(write()) === ((2, 0)))
      Eventually.eventually(soon)(assert(ids === kept))
    }
    CacheControl.clear(spark)
    Eventually.eventually(soon) {
      System.gc()
      assert(own.isEmpty)
    }
  }

  test("queries that make one shuffle at the same time all get its rows") {
    val expected = alone(rows(sql(joined)))
    val threads = Executors.newFixedThreadPool(4)
    try
      for (round <- 1 to 5) {
        CacheControl.clear(spark)
        val runs =
          Seq.fill[Callable[Seq[String]]](4)(() => rows(spark.newSession().sql(joined)))
        threads.invokeAll(runs.asJava).asScala.foreach(run =>
          assertRows(run.get, expected, s"round $round"))
        assert(figures(kept.shuffles).sides === 2)
      }
    finally threads.shutdownNow()
  }

  test("a large one is not kept, and one of no rows is") {
    val small = new KeptSides[ShuffledSide]("", 8 << 20, 1 << 20, 1 << 20)
    def keep(n: Int, bytes: Long): Int = {
      val key = BuildSideKey(PlanShape(Seq(n), Nil), HashPartitioning(Nil, n), Nil, Map.empty)
      small.keep(key, ShuffledSide(dependency = null, java.util.List.of(), null, 1, 1, bytes))
      small.figures.sides.toInt
    }
    assert(keep(1, 1 << 20) === 1)
    assert(keep(2, (1 << 20) + 1) === 1)
    assertShuffled(sql(
      "SELECT s.id FROM sales s LEFT JOIN (SELECT * FROM items WHERE brand = 9) i USING (item)"))
  }

  test("plans have Spark's exchanges where the cache is off") {
    val plan = alone(executed(sql(joined)))
    assert(collect(plan) { case exchange: ShuffleExchangeExec => exchange }.size >= 2)
    assert(shuffles(sql(joined)).size === 2)
  }
}
