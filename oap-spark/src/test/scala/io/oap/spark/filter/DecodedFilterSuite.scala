package io.oap.spark.filter

import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.IntegerType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.vector.{NativeBuffer, VectorChunk, VectorKind}
import io.oap.spark.{CacheControl, CacheSuite}
import io.oap.spark.vector.{DeletedPositions, RowSelection}

/** Conditions on rows that Spark's reader decodes, because there are no vector chunks of them. */
class DecodedFilterSuite extends CacheSuite {
  private val rowCount = 20000

  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.cache.representation" -> "encoded")

  /** How columns lie in files: by numbers of entries, by values, or first by these and then those. */
  private val layouts = Map(
    "coded" -> Map.empty[String, String],
    "plain" -> Map("parquet.enable.dictionary" -> "false"),
    "both" -> Map("parquet.dictionary.page.size" -> "1500", "parquet.page.size" -> "3000")
  )

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    def any(below: Int, name: String) = s"pmod(hash(id, '$name'), $below)"
    def orNull(value: String, name: String) =
      s"if(${any(9, name + "?")} = 0, null, $value) AS $name"
    val columns = Seq(
      "b" -> s"${any(4, "b")} = 1",
      "y" -> s"cast(${any(100, "y")} as byte)",
      "h" -> s"cast(${any(3000, "h")} as short)",
      "i" -> any(5000, "i"),
      "l" -> s"${any(5000, "l")} * 10000000000L",
      "f" -> s"cast(${any(500, "f")} / 7 as float)",
      "d" -> s"if(${any(50, "d")} = 0, double('NaN'), ${any(500, "d")} / 7D - 0.0D)",
      "s" -> s"concat('s', ${any(2000, "s")})",
      "bytes" -> s"cast(concat('b', ${any(300, "bytes")}) as binary)",
      "day" -> s"date_add(date'2020-01-01', ${any(1000, "day")})",
      "t" -> s"timestamp_seconds(1600000000 + ${any(900, "t")})",
      "small" -> s"cast(${any(1000, "small")} / 100 as decimal(9, 2))",
      "middle" -> s"cast(${any(1000, "middle")} as decimal(18, 2))",
      "large" -> s"cast(${any(1000, "large")} as decimal(30, 2))"
    ).map { case (name, value) => orNull(value, name) }
    for ((name, writer) <- layouts) {
      spark
        .range(0, rowCount, 1, 1)
        .selectExpr("id" +: "array(id) AS list" +: columns: _*)
        .write
        .options(writer ++ rowGroupsOf(7000))
        .parquet(path(name))
    }
    spark
      .range(40)
      .selectExpr("cast(id * 30 as int) AS key", "concat('s', id) AS text", "id % 2 AS half")
      .write
      .parquet(path("dim"))
  }

  /** A table whose statistics, dictionaries and page index rule nothing out. */
  private def table(layout: String): DataFrame = spark.read
    .options(Seq("stats", "dictionary", "columnindex").map(what =>
      s"parquet.filter.$what.enabled" -> "false").toMap)
    .parquet(path(layout))

  /** Compares a query of each layout with Spark alone; what the warm runs counted, by layout. */
  private def compare(query: DataFrame => DataFrame): Map[String, CacheCounters] =
    layouts.keys.map { layout =>
      layout -> withClue(layout)(assertSameRows(query(table(layout))))
    }.toMap

  private val conditions = Seq(
    "b",
    "y IN (1, 2, 3)",
    "h BETWEEN 100 AND 200",
    "h < -30000",
    "i IN (1, 100, 1000, 4999, 70000)",
    "i > 4900",
    "l = 40000000000",
    "f > 70.5F",
    "d = double('NaN')",
    "d <= 0.0D",
    "d <=> -0.0D",
    "s IN ('s1', 's77', 'none')",
    "bytes = cast('b7' as binary)",
    "day = date'2020-02-29'",
    "day >= date'2022-08-01'",
    "t < timestamp_seconds(1600000033)",
    "small = 3.21",
    "middle IN (7, 8.5)",
    "i IS NULL",
    "s IS NULL AND l IS NOT NULL",
    "s = 's5' AND i IS NOT NULL AND y < 50",
    "h < 30 AND i IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AND d > 1"
  )

  for (condition <- conditions) {
    test(s"rows where $condition") {
      val wanted = alone(table("plain").filter(condition).count())
      for ((layout, counters) <- compare(_.filter(condition).select("id", "list", "s", "i"))) {
        if (wanted < rowCount / 10)
          assert(counters.get(Figure.ROWS_DROPPED) === rowCount - wanted, layout)
      }
    }
  }

  test("batches of which nearly all rows are wanted stay whole") {
    for ((_, counters) <- compare(_.filter("i < 4999").select("id"))) {
      assert(counters.get(Figure.ROWS_DROPPED) === 0)
    }
    for ((_, counters) <- compare(_.filter("i IS NOT NULL AND y >= 0 AND i < 1").select("id"))) {
      assert(counters.get(Figure.ROWS_DROPPED) > rowCount - 100)
    }
  }

  test("join keys leave out rows, also above statistics and of strings") {
    val dim = spark.read.parquet(path("dim")).filter("half = 1")
    for ((_, counters) <- compare(t => t.join(dim, t("i") === dim("key")).select("id", "text"))) {
      assert(counters.get(Figure.ROWS_DROPPED) > rowCount / 2)
    }
    for ((_, counters) <- compare(t => t.join(dim, t("s") === dim("text")).select("id", "i"))) {
      assert(counters.get(Figure.ROWS_DROPPED) > rowCount / 2)
    }
  }

  test("off-heap vectors, rows one by one, and other sizes of batches") {
    for {
      (offHeap, codegen, batch) <- Seq(
        ("true", "true", "1000"),
        ("false", "false", "4096"),
        ("false", "true", "3"),
        ("false", "true", "20000"))
    } withConf(
      "spark.sql.columnVector.offheap.enabled" -> offHeap,
      "spark.sql.codegen.wholeStage" -> codegen,
      "spark.sql.parquet.columnarReaderBatchSize" -> batch) {
      val found = compare(_.filter("i IN (5, 6, 7, 4000) AND s < 's5' AND h > 9").select("id"))
      for ((_, counters) <- found) assert(counters.get(Figure.ROWS_DROPPED) > rowCount - 100)
    }
  }

  test("in auto, as in encoded: cold, when chunks are turned, and turned") {
    withConf("spark.oap.cache.representation" -> "auto") {
      for (layout <- layouts.keys) {
        def query = table(layout).filter("i < 100 AND s IS NOT NULL AND d > 3").select("id", "s")
        val expected = alone(rows(query))
        CacheControl.clear(spark)
        for (run <- 1 to 3) {
          val (found, counters) = counting(rows(query))
          assertRows(found, expected, s"run $run, $layout")
          assert(
            counters.get(Figure.ROWS_DROPPED) === rowCount - expected.size,
            s"run $run, $layout")
        }
      }
    }
  }

  test("statistics that are not to be used") {
    for ((_, counters) <- compare(_.filter("id = 5 AND i >= -1").select("id", "list"))) {
      assert(counters.chunksHit === 3 * 3, "row groups that statistics would rule out")
    }
  }

  /** A condition that fails when it is asked. */
  private def faulty() = new DecodedFilters(Seq(
    new DecodedFilter(new TaskFilter(new PreparedFilter(RowFilter.Between("c", 1, 2))), 0, null)))

  test("a condition that cannot be tested is left out") {
    val filters = faulty()
    val batch = new ColumnarBatch(Array(new OnHeapColumnVector(10, IntegerType)), 10)
    val selection = new RowSelection(new NativeBuffer(20))
    selection.reset(10)
    assert(!filters.narrow(selection, batch))
    assert(selection.count === 10 && selection.rowNumbers === 0 && filters.isEmpty)
    batch.close()
  }

  test("deleted rows stay out where a condition cannot be tested") {
    val batch = new ColumnarBatch(Array(new OnHeapColumnVector(10, IntegerType)), 10)
    val values = new NativeBuffer(40)
    val bits = new java.util.BitSet
    bits.set(13, 16)
    val deleted = new DeletedPositions(bits).ofRowGroup(10, 10)
    Using.resource(VectorChunk.ofDecoded(VectorKind.I32)) { chunk =>
      chunk.setDecoded(values.address, 0, 10)
      val selection = new RowSelection(new NativeBuffer(20))
      val zones = new ZoneScan(Array(chunk), Nil, deleted, selection, new CacheCounters)
      assert(zones.advance() && zones.remaining === 7)
      zones.narrow(faulty(), batch)
      assert((0 until 7).map(selection.number) === Seq(0, 1, 2, 6, 7, 8, 9))
      assert(zones.remaining === 7 && !zones.advance())
    }
    batch.close()
  }

  test("row groups with vector chunks behind others without") {
    withConf("spark.oap.cache.representation" -> "vector") {
      val files = path("coded")
      def query = spark.read.parquet(files).filter("i < 500").select("id", "i")
      CacheControl.clear(spark)
      spark.read.parquet(files).filter("id >= 14000").select("id", "i").collect()
      val (found, counters) = counting(rows(query))
      assertRows(found, alone(rows(query)), "the last row group has vector chunks")
      assert(counters.chunksHit === 2 && counters.chunksMissed === 4)
    }
  }

  test("conditions on columns beside vector chunks, on both sides") {
    withConf("spark.oap.cache.representation" -> "vector") {
      for (layout <- layouts.keys) {
        def all = table(layout)
        def query = all.filter("y < 40 AND i IN (7, 8, 9, 10, 11)").select("id", "s")
        for (seen <- Seq("y", "i", "id")) {
          CacheControl.clear(spark)
          all.select(seen).collect()
          val (mixed, counters) = counting(rows(query))
          assertRows(mixed, alone(rows(query)), s"$seen as vectors, $layout")
          assert(counters.chunksHit === 3, s"$seen, $layout")
          assert(counters.get(Figure.ROWS_DROPPED) > rowCount - 100)
          assertRows(rows(query), mixed, s"all as vectors, $layout")
        }
      }
    }
  }
}
