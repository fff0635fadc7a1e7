package io.oap.spark.buildside

import java.net.URI
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.fs.RawLocalFileSystem
import org.apache.spark.sql.catalyst.expressions.{InSet, Literal}
import org.apache.spark.sql.catalyst.plans.physical.IdentityBroadcastMode
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.functions.udf
import org.apache.spark.unsafe.types.UTF8String

import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.scan.CachedScanExec

/** Build sides of joins are kept from query to query, and rows are those of Spark alone. */
class BuildSideSuite extends CacheSuite with BuildSideTables {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  private val star =
    "SELECT sum(id), brand FROM sales JOIN items USING (item) WHERE brand < 3 GROUP BY brand"

  private val queries = Seq(
    "inner, one integer" -> star,
    "inner, two keys" -> """SELECT s.id, i.brand FROM sales s JOIN items i
      ON s.item = i.item AND s.code = i.code WHERE i.brand = 2""",
    "inner, a string" -> "SELECT s.id, i.made FROM sales s JOIN items i ON s.code = i.code",
    "outer" ->
      "SELECT s.id, i.code FROM sales s LEFT JOIN (SELECT * FROM items WHERE brand = 1) i USING (item)",
    "semi" -> "SELECT id FROM sales WHERE item IN (SELECT item FROM items WHERE brand = 4)",
    "anti" ->
      "SELECT id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.item = s.item AND brand > 0)",
    "anti, NULL counts" ->
      "SELECT id FROM sales WHERE code NOT IN (SELECT code FROM items WHERE brand > 0)",
    "nested loop" -> """SELECT count(*), sum(s.id + b.brand) FROM sales s JOIN brands b
      ON s.item < b.brand""",
    "a join below the broadcast" -> """SELECT sum(s.id), x.name FROM sales s JOIN
      (SELECT /*+ BROADCAST(brands) */ items.item, name FROM items JOIN brands USING (brand) WHERE name > 'brand 1') x
      ON s.item = x.item GROUP BY x.name""",
    "twice in one query" -> s"$star UNION ALL $star",
    "dynamic pruning" ->
      "SELECT sum(id), month FROM sales JOIN days USING (day) WHERE month = 1 GROUP BY month",
    "computed columns" -> """SELECT sum(s.id) FROM sales s JOIN
      (SELECT item * 2 AS twice, upper(code) AS code FROM items WHERE code LIKE '1%') i ON s.item = i.twice"""
  )

  for {
    adaptive <- Seq(true, false)
    (name, query) <- queries
  } test(s"rows with a kept side, $name, adaptive $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString)(assertKept(sql(query)))
  }

  test("a side of one plan serves another that is adaptive, or is not") {
    CacheControl.clear(spark)
    withConf("spark.sql.adaptive.enabled" -> "false")(sql(star).collect())
    assert(asked(sql(star).collect()) === ((1, 0)))
  }

  test("a kept side is told as the built one was, and its table is not read") {
    CacheControl.clear(spark)
    def told = exchanges(executed(sql(star))) match {
      case Seq(exchange) =>
        val scan = collect(exchange.child) { case plan if plan.children.isEmpty => plan }
        val statistics = exchange.runtimeStatistics
        (
          exchange.longMetric("keptBuildSides").value,
          scan.map(_.metrics("numOutputRows").value).sum,
          statistics.sizeInBytes,
          statistics.rowCount)
      case others => fail(s"exchanges: $others")
    }
    val (0, read, bytes, Some(count)) = told: @unchecked
    assert(read >= 60 && count === 60)
    assert(told === ((1, 0, bytes, Some(count))))
  }

  for (adaptive <- Seq(true, false)) {
    test(s"exchanges are reused as Spark reuses its own, adaptive $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        val other = star.replace("sum(id)", "max(id)").replace("WHERE", "WHERE id > 7 AND")
        def reused = collectWithSubqueries(executed(sql(s"$star UNION ALL $other"))) {
          case ReusedExchangeExec(_, _: BroadcastExchangeLike) => 1
        }.sum
        val own = withConf("spark.oap.buildsides.enabled" -> "false")(reused)
        assert(own > 0)
        assert(reused === own)
        assert(reused === own, "with what is kept")
      }
    }

    test(s"dynamic pruning reads the partitions that a kept side has, adaptive $adaptive") {
      withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
        def factRows = collect(executed(sql(
          "SELECT sum(id) FROM sales JOIN days USING (day) WHERE month = 2"))) {
          case CachedScanExec(exec, scan) if scan.readSchema().fieldNames.contains("id") =>
            exec.longMetric("numOutputRows").value
        }.sum
        val own = withConf("spark.oap.buildsides.enabled" -> "false")(factRows)
        assert(own < 10000)
        assert(factRows === own)
        assert(asked(assert(factRows === own)) === ((1, 0)))
      }
    }
  }

  test("nothing is kept of what may come out in another way") {
    spark.udf.register("half", udf((x: Int) => x / 2))
    for (condition <- Seq(
        "rand(7) < 0.9",
        "half(brand) = 1",
        "brand = (SELECT max(brand) FROM brands)",
        "reflect('java.lang.Math', 'abs', brand) = '1'",
        "input_file_name() > ''"
      )) withClue(condition) {
      assertNotKept(sql(
        s"SELECT /*+ BROADCAST(i) */ s.id FROM sales s JOIN (SELECT * FROM items WHERE $condition) i USING (item)"))
    }
    for (key <- Seq("half(i.item)", "i.item * 2 + i.brand + 1", "2 * i.item * i.brand"))
      withClue(key)(assertNotKept(sql(
        s"SELECT /*+ BROADCAST(i) */ s.id FROM sales s JOIN items i ON s.item = $key")))
    withConf("spark.sql.files.ignoreCorruptFiles" -> "true")(assertNotKept(sql(star)))
    withConf("spark.oap.buildsides.enabled" -> "false")(assertNotKept(sql(star)))
  }

  test("sums, products and extremes are those of their own order") {
    def query(value: String) = sql(s"""SELECT /*+ BROADCAST(v) */ s.id, v.value FROM sales s JOIN
      (SELECT item, $value AS value FROM ordered) v USING (item)""")
    sql("""SELECT 1 AS item, CAST(0.0000004 AS DECIMAL(38, 18)) AS x, CAST(0.5 AS DECIMAL(38, 18)) AS y,
      CAST(1000000 AS DECIMAL(38, 18)) AS z, 1e300D AS big, -1e300D AS less, 1D AS one,
      0D AS zero, -0D AS minus""")
      .write.saveAsTable("ordered")
    for (values <- Seq(
        Seq("x * y * z", "x * (y * z)"),
        Seq("big + less + one", "big + (less + one)", "one + less + big"),
        Seq("greatest(zero, minus)", "greatest(minus, zero)"),
        Seq("least(zero, minus)", "least(minus, zero)")
      )) {
      val expected = values.map(value => alone(rows(query(value))))
      assert(expected.distinct.size > 1)
      for ((value, rows) <- values.zip(expected) ++ values.zip(expected).reverse)
        assertRows(this.rows(query(value)), rows, value)
    }
  }

  test("equal keys are needed: a side of other columns, conditions or keys is not given") {
    CacheControl.clear(spark)
    val base = "SELECT sum(s.id), max(i.brand) FROM sales s JOIN items i"
    for (rest <- Seq(
        "ON s.item = i.item WHERE i.brand = 1",
        "ON s.item = i.item WHERE i.brand = 2",
        "ON s.item = i.item + 1 WHERE i.brand = 2",
        "ON s.code = i.code WHERE i.brand = 2",
        "ON s.item = i.item WHERE i.brand = 2 AND i.code > '3'"
      )) withClue(rest) {
      val (hits, misses) =
        asked(assertRows(rows(sql(s"$base $rest")), alone(rows(sql(s"$base $rest"))), "run"))
      assert((hits, misses) === ((0, 1)))
    }
  }

  test("settings of the session are part of the key") {
    CacheControl.clear(spark)
    def query = sql("""SELECT sum(s.id), count(*) FROM sales s JOIN
      (SELECT item, CAST(made AS DATE) d, hour(made) h FROM items WHERE hour(made) < 4) i USING (item)
      WHERE i.d >= DATE '2024-03-10'""")
    for (zone <- Seq("UTC", "America/Los_Angeles", "Asia/Tokyo", "UTC")) {
      withConf("spark.sql.session.timeZone" -> zone) {
        assertRows(rows(query), alone(rows(query)), zone)
      }
    }
    // The last zone was the first; with other arithmetic nothing is found.
    withConf("spark.sql.session.timeZone" -> "UTC") {
      assert(asked(rows(query)) === ((1, 0)))
      withConf("spark.sql.ansi.enabled" -> "false")(assert(asked(rows(query)) === ((0, 1))))
      withConf("spark.sql.shuffle.partitions" -> "3")(assert(asked(rows(query)) === ((1, 0))))
      // What Spark takes anyway, said of a key that it does not show.
      withConf("spark.sql.codegen.useIdInClassName" -> "true") {
        assert(asked(rows(query)) === ((1, 0)))
      }
      withConf("spark.unknown" -> "true")(assert(asked(rows(query)) === ((0, 1))))
    }
  }

  test("a broadcast that somebody has destroyed is built again") {
    CacheControl.clear(spark)
    val expected = alone(rows(sql(star)))
    val Seq(exchange) = exchanges(executed(sql(star))): @unchecked
    assert(exchange.mode.isInstanceOf[HashedRelationBroadcastMode])
    exchange.relationFuture.get().destroy()
    assert(asked(assertRows(rows(sql(star)), expected, "after destroy")) === ((0, 1)))
    assert(asked(assertRows(rows(sql(star)), expected, "again")) === ((1, 0)))
  }

  test("a side of many files asks for none of them") {
    val scheme = "fs." + CountedFileSystem.Scheme
    for ((files, areFew) <- Seq(64 -> true, 65 -> false)) {
      spark.range(0, files, 1, files).write.parquet(path(s"files$files"))
      val scan = spark.read
        .options(Map(
          s"$scheme.impl" -> classOf[CountedFileSystem].getName,
          s"$scheme.impl.disable.cache" -> "true"))
        .parquet(s"${CountedFileSystem.Scheme}:${path(s"files$files")}")
      val leaves =
        collect(scan.queryExecution.sparkPlan) { case plan if plan.children.isEmpty => plan }
      FilesNow.of(leaves) // files are listed now
      val before = CountedFileSystem.made.get
      assert(FilesNow.of(leaves).isDefined === areFew)
      assert(CountedFileSystem.made.get - before >= files === areFew)
    }
  }

  test("what conditions name is weighed") {
    val few = new KeptSides[BuildSide]("", 1L << 20, Long.MaxValue, 16 << 10)
    for (i <- 1 to 100) {
      val values = (1 to 1000).map(value => UTF8String.fromString(s"$i $value")).toSet[Any]
      val shape = PlanShape(Seq("filter", InSet(Literal("x"), values)), Nil)
      few.keep(
        BuildSideKey(shape, IdentityBroadcastMode, Nil, Map.empty),
        BuildSide(broadcast = null, rows = 0, bytes = 0))
    }
    assert(figures(few).sides > 0 && figures(few).sides < 10)
  }

  test("sessions share what is kept, and clear forgets it") {
    CacheControl.clear(spark)
    rows(sql(star))
    assert(asked(rows(spark.newSession().sql(star))) === ((1, 0)))
    val row =
      sql("SELECT sides, bytes > 0, hits > 0, misses > 0 FROM oap.system.buildsides WHERE kind = 'broadcast'")
        .head()
    assert(row.mkString(" ") === "1 true true true")
    sql("CALL oap.system.clear()").collect()
    assert(sides.sides === 0 && sides.bytes === 0)
    assert(asked(rows(sql(star))) === ((0, 1)))
  }
}

/** The local file system under a scheme of its own. */
private class CountedFileSystem extends RawLocalFileSystem {
  CountedFileSystem.made.incrementAndGet()

  override def getScheme: String = CountedFileSystem.Scheme

  override def getUri: URI = URI.create(s"${CountedFileSystem.Scheme}:///")
}

private object CountedFileSystem {
  val Scheme = "counted"

  /** How many there were. */
  val made = new AtomicLong
}
