package io.oap.spark.buildside

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.physical.IdentityBroadcastMode
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.scalatest.concurrent.Eventually

import io.oap.spark.CacheControl
import io.oap.spark.dataframe.FramesInPool
import io.oap.spark.framescan.CachedRows

/** Build sides of cached DataFrames are kept, for as long as these are cached. */
class FrameBuildSideSuite extends FramesInPool with BuildSideTables {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    createTables()
  }

  private val queries = Seq(
    "a star" -> """SELECT /*+ BROADCAST(items) */ sum(id), brand FROM sales JOIN items USING (item)
      WHERE brand < 3 GROUP BY brand""",
    "a semi join" -> "SELECT id FROM sales WHERE item IN (SELECT item FROM items WHERE brand = 4)",
    "a join below the broadcast" -> """SELECT sum(s.id), x.name FROM sales s JOIN
      (SELECT /*+ BROADCAST(brands) */ items.item, name FROM items JOIN brands USING (brand) WHERE name > 'brand 1') x
      ON s.item = x.item GROUP BY x.name""",
    "dynamic pruning" ->
      "SELECT sum(id), month FROM sales JOIN days USING (day) WHERE month = 1 GROUP BY month"
  )

  private val tables = Seq("sales", "items", "brands", "days")

  /** Runs the body while tables are cached, and no side is kept yet. */
  private def cachedTables(names: Seq[String])(body: => Unit): Unit = {
    CacheControl.clear(spark)
    names.foreach(name => sql(s"CACHE TABLE $name"))
    try body
    finally names.foreach(name => sql(s"UNCACHE TABLE IF EXISTS $name"))
  }

  for {
    adaptive <- Seq(true, false)
    (which, names) <- Seq(
      "all tables" -> tables,
      "the large one" -> Seq("sales"),
      "the small ones" -> tables.tail)
    (name, query) <- queries
  } test(s"rows with a kept side, $name, cached are $which, adaptive $adaptive") {
    withConf("spark.sql.adaptive.enabled" -> adaptive.toString) {
      val expected = alone(rows(sql(query)))
      cachedTables(names)(assertKept(sql(query), expected))
    }
  }

  private val star = queries.head._2

  private def frameScans(query: DataFrame) =
    collect(executed(query)) { case scan: InMemoryTableScanExec => scan }

  test(
    "a side is forgotten when its DataFrame is uncached, and not found when it is cached again") {
    cachedTables(Seq("items")) {
      rows(sql(star))
      assert(asked(rows(sql(star))) === ((1, 0)))
      sql("UNCACHE TABLE items")
      Eventually.eventually(soon)(assert(sides.sides === 0))
      sql("INSERT INTO items VALUES (7, '7', 2, NULL)")
      sql("CACHE TABLE items")
      assertBuiltAgain(sql(star), "cached again with one row more")
      assert(frameScans(sql(star)).nonEmpty)
    }
  }

  test("a shuffle is forgotten when its DataFrame is uncached") {
    cachedTables(Seq("items")) {
      def query = sql("SELECT /*+ MERGE(i) */ s.id, i.brand FROM sales s JOIN items i USING (item)")
      val expected = alone(rows(query))
      for (kept <- Seq(0, 2))
        assert(askedShuffles(assertRows(rows(query), expected, "cached")) === ((kept, 2 - kept)))
      sql("UNCACHE TABLE items")
      Eventually.eventually(soon)(assert(figures(kept.shuffles).sides === 1))
      assert(askedShuffles(assertRows(rows(query), expected, "uncached")) === ((1, 1)))
    }
  }

  test("a side that is built while its DataFrame is uncached is not kept") {
    // The test before has one that Spark's listeners may not have told to go yet.
    CacheControl.clear(spark)
    val key = BuildSideKey(
      PlanShape(Nil, Nil),
      IdentityBroadcastMode,
      Seq(CachedRows(Int.MaxValue)),
      Map.empty)
    BuildSides.of(spark.sparkContext).broadcasts.keep(
      key,
      BuildSide(broadcast = null, rows = 0, bytes = 0))
    assert(sides.sides === 0)
  }

  test("conditions and columns of a DataFrame tell sides apart") {
    cachedTables(Seq("items")) {
      def query(columns: String, condition: String) = sql(
        s"SELECT /*+ BROADCAST(i) */ s.id, $columns FROM sales s JOIN items i ON s.item = i.item WHERE $condition")
      for (one <- Seq("i.brand", "i.code"); condition <- Seq("i.brand = 1", "i.brand = 2"))
        assertBuiltAgain(query(one, condition), s"$one, $condition")
    }
  }

  test(
    "nothing is kept of batches that Spark keeps, nor of conditions that may come out otherwise") {
    withConf("spark.oap.cache.dataframes" -> "false") {
      cachedTables(Seq("items")) {
        for (_ <- 1 to 2) rows(sql(star))
        assert(sides.sides === 0)
      }
    }
    CacheControl.clear(spark)
    sql("CACHE TABLE items OPTIONS ('storageLevel' 'MEMORY_ONLY')")
    try {
      for (_ <- 1 to 2) rows(sql(star))
      assert(frameScans(sql(star)).nonEmpty)
      assert(sides.sides === 0, "rows that are computed again for want of room")
    } finally sql("UNCACHE TABLE items")
    cachedTables(Seq("items")) {
      val random = """SELECT /*+ BROADCAST(i) */ s.id FROM sales s JOIN
        (SELECT * FROM items WHERE item >= 100 * rand(7)) i USING (item)"""
      for (_ <- 1 to 2) rows(sql(random))
      assert(sides.sides === 0)
    }
  }
}
