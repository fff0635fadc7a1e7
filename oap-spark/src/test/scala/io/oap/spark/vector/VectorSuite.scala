package io.oap.spark.vector

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.expressions.{Expression, Expressions}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.datasources.FilePartition

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.{CacheControl, CacheSuite, NativeMemory}
import io.oap.spark.read.JoinedPartition

/** Vector chunks: when they are made, what they serve, and which rows they leave out. */
class VectorSuite extends CacheSuite {
  private val rowCount = 30000

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark
      .range(0, rowCount, 1, 1)
      .selectExpr(
        "id",
        "cast(id / 5000 as int) AS step",
        "cast(id % 700 as short) AS k",
        "if(id % 3 = 0, null, cast(id % 11 as string)) AS s",
        "cast(id * 1.25 as decimal(12, 2)) AS price",
        "date_add(date'1500-01-01', cast(id as int)) AS day",
        """CASE id % 60 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN null
          |WHEN 4 THEN double('Infinity') WHEN 5 THEN double('-Infinity') ELSE id / 3.0D END AS d
          |""".stripMargin,
        "cast(id / 8.0D as float) AS f",
        "array(id, id + 1) AS list",
        "struct(id AS a, cast(id as string) AS b) AS nested"
      )
      .write
      .parquet(path("t"))
    spark
      .range(0, 3, 1, 1)
      .selectExpr("cast(id * 100 as short) AS dk", "concat('n', id) AS name")
      .write
      .parquet(path("dim"))
  }

  private def table: DataFrame = spark.read.parquet(path("t"))

  private def vectors[T](body: => T): T =
    withConf("spark.oap.cache.representation" -> "vector")(body)

  /** Makes vector chunks of what this reads, and of the dimension, and nothing else is held. */
  private def load(read: => DataFrame = table): Unit = vectors {
    CacheControl.clear(spark)
    read.collect()
    spark.read.parquet(path("dim")).collect()
  }

  /** Compares a query of loaded columns with Spark alone, and returns what it counted. */
  private def fromPool(query: => DataFrame): CacheCounters = vectors {
    val expected = alone(rows(query))
    val (_, counters) = counting(assertRows(rows(query), expected, "on vector chunks"))
    assert(counters.bytesFromFile === 0)
    assert(counters.chunksMissed === 0)
    counters
  }

  /** Both: what `read` reads is loaded, then the query is compared. */
  private def warm(query: => DataFrame, read: => DataFrame = table): CacheCounters = {
    load(read)
    fromPool(query)
  }

  test("flat columns of all rows") {
    assert(warm(table.select("id", "step", "k", "s", "price", "day")).chunksHit === 6)
    assert(warm(table.selectExpr("count(s)", "sum(price)", "max(day)", "min(k)")).chunksHit === 4)
  }

  test("zones without a candidate are passed over, and rows that are not wanted left out") {
    val counters = warm(table.filter("step = 3").selectExpr("id", "s"))
    assert(counters.get(Figure.ZONES_SKIPPED) === 6)
    assert(counters.get(Figure.ROWS_DROPPED) === 2 * 4096 - 5000)
    val range = warm(table.filter("id > 100 AND id <= 200").select("price"))
    assert(range.get(Figure.ZONES_SKIPPED) === 7)
    assert(range.get(Figure.ROWS_DROPPED) === 4096 - 100)
  }

  test("conditions on strings, decimals, dates and nulls") {
    load()
    for (condition <- Seq(
        "s = '7'",
        "s IN ('7', '10', 'none')",
        "s IS NULL",
        "s IS NOT NULL AND price < 100",
        "price = 12.5",
        "price >= 1000.01 AND price < 1010",
        "day = date'1500-03-01'",
        "day > date'1570-01-01'",
        "k <=> 5",
        "k IN (1, 2, 3) AND s = '7'",
        "id NOT IN (1, 2, 8191)",
        "s NOT IN ('7', '10') AND NOT (k <=> 5)",
        "NOT (s LIKE '1%')",
        "k < -32768",
        "id > 9223372036854775806"
      )) {
      fromPool(table.filter(condition))
      fromPool(table.filter(condition).selectExpr("count(1)", "max(id)", "count(s)"))
    }
  }

  test("conditions on floating-point numbers, in Spark's order of them") {
    val values =
      Seq("0.0D", "-0.0D", "1200.0D", "double('NaN')", "double('Infinity')", "double('-Infinity')")
    def read = table.select("id", "d")
    load(read)
    for (operator <- Seq("=", "<=>", "<", "<=", ">", ">="); value <- values) {
      fromPool(read.filter(s"d $operator $value"))
      fromPool(read.filter(s"$value $operator d"))
    }
    val counters = warm(table.filter("f > 1000 AND 1001 >= f").select("id"))
    assert(counters.get(Figure.ZONES_SKIPPED) === 7)
    assert(counters.get(Figure.ROWS_DROPPED) === 4096 - 8)
  }

  test("EXPLAIN tells which conditions the scan takes on") {
    def plan =
      table.filter("k IN (5, 6) AND s = '7' AND id > 3").queryExecution.executedPlan.toString
    Seq("k IN (5, 6)", "s IN (7)", "s IS NOT NULL", "id >= 4")
      .foreach(told => assert(plan.contains(told), plan))
  }

  test("join keys leave out rows") {
    val dim = spark.read.parquet(path("dim")).filter("name != 'n0'")
    val counters = warm {
      val fact = table
      fact.join(dim, fact("k") === dim("dk")).select("id", "price", "name")
    }
    assert(counters.get(Figure.ROWS_DROPPED) > rowCount / 2)
  }

  test("dictionaries that end within a chunk, and entries that come late") {
    // Small pages and dictionaries: a chunk begins with numbers of entries and goes on with values.
    spark
      .range(0, rowCount, 1, 1)
      .selectExpr(
        "cast(id / 10 as int) AS i",
        "if(id % 5 = 0, null, id / 7) AS d",
        "if(id % 4 = 0, null, cast(id / 9 as float)) AS f",
        "cast(id div 300 as byte) AS b",
        "cast(id % 90 as short) AS k",
        "if(id < 20000, null, concat('s', id % 3000)) AS s",
        "cast(concat('b', id div 50) as binary) AS bytes",
        "cast(id div 3 as decimal(25, 3)) AS wide",
        "cast(id % 1000 as decimal(9, 3)) AS narrow",
        "timestamp_seconds(id div 40) AS t",
        "id % 7 = 3 AS isThree",
        "if(id % 2 = 0, null, id % 100) AS l"
      )
      .write
      .option("parquet.dictionary.page.size", 4096)
      .option("parquet.page.size", 8192)
      .parquet(path("dictionaries"))
    def read = spark.read.parquet(path("dictionaries"))
    assert(warm(read, read).chunksHit === 12)
    warm(read.filter("i BETWEEN 1000 AND 1100 AND s IN ('s1', 's2000')"), read)
    warm(read.selectExpr("sum(d)", "sum(f)", "count(s)", "max(t)", "sum(l)", "min(wide)"), read)
  }

  test("tasks are larger where join keys leave out rows, and only there") {
    val keys = Expressions.column("id") +: (5L to 6L).map(Expressions.literal(_))
    val found = new Predicate("IN", keys.toArray[Expression])
    def tasks(predicates: Predicate*): Seq[FilePartition] = {
      val scan = cachedScans(executed(table.select("id"))).head
      scan.filter(predicates.toArray)
      scan.planInputPartitions().toSeq.map(JoinedPartition.filesOf(_))
    }
    def ranges(tasks: Seq[FilePartition]) =
      tasks.flatMap(_.files).map(file => (file.urlEncodedPath, file.start, file.length)).toSet
    withConf(
      "spark.sql.files.maxPartitionBytes" -> "40k",
      "spark.sql.files.openCostInBytes" -> "0") {
      val ofSpark = tasks()
      assert(ofSpark.size > 12 && ofSpark.size == alone(table.select("id").rdd.getNumPartitions))
      // Three for each of the two cores, or what fills them to the nearer end.
      val larger = tasks(found)
      assert(larger.size >= 5 && larger.size <= 7 && ranges(larger) == ranges(ofSpark))
      assert(larger.map(_.index) == larger.indices)
      val dim = spark.read.parquet(path("dim")).filter("name != 'n0'")
      warm {
        val fact = table
        fact.join(dim, fact("k") === dim("dk")).select("id", "price", "name")
      }
    }
  }

  test("nested columns stay encoded beside vector chunks") {
    warm(table.select("id", "list", "s", "nested"))
    warm(table.filter("step = 2").select("id", "list", "s", "nested.b"))
    warm(table.filter("k = 5").select("list", "nested"))
  }

  test("nothing is decoded beside vector chunks of which no zone has a candidate") {
    spark.range(0, 2 * rowCount, 2, 1).selectExpr("id", "array(id) AS list")
      .write.parquet(path("even"))
    val counters = warm(
      spark.read.parquet(path("even")).filter("id = 8191").select("list"),
      spark.read.parquet(path("even")))
    assert(counters.get(Figure.ZONES_SKIPPED) === 8 && counters.chunksHit === 1)
  }

  test("a column that is read later is decoded beside the vector chunks of the others") {
    vectors {
      CacheControl.clear(spark)
      table.select("id", "s").collect()
      val (_, counters) = counting {
        assertRows(
          rows(table.filter("step = 1").select("id", "s", "price")),
          alone(rows(table.filter("step = 1").select("id", "s", "price"))),
          "mixed")
      }
      assert(counters.chunksHit === 2)
      assert(counters.chunksMissed === 2)
    }
  }

  test("auto turns a chunk when it is found in the pool") {
    withConf("spark.oap.cache.representation" -> "auto") {
      def query = table.filter("k = 5 AND step < 2").select("id")
      CacheControl.clear(spark)
      val runs = Seq.fill(3)(counting(query.collect())._2)
      assert(runs.map(_.get(Figure.ZONES_SKIPPED)) === Seq(0, 0, 5))
      assert(runs.map(_.chunksMissed) === Seq(3, 0, 0))
      assert(runs.tail.map(_.bytesFromFile) === Seq(0, 0))
    }
  }

  test("sessions with other calendars do not share dates") {
    withConf("spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY") {
      table.select("day").write.parquet(path("legacy"))
    }
    def days = spark.read.parquet(path("legacy"))
    warm(days, days)
    withConf("spark.sql.parquet.datetimeRebaseModeInRead" -> "CORRECTED")(warm(days, days))
    warm(table.selectExpr("cast(day AS string)"))
  }

  test("row by row, without whole-stage code generation; encoded chunks with tiny batches") {
    withConf("spark.sql.codegen.wholeStage" -> "false") {
      warm(table.filter("k = 7").select("id", "s"))
      warm(table.select("id", "list"))
    }
    withConf("spark.sql.parquet.columnarReaderBatchSize" -> "3") {
      vectors(assertServed(table.filter("k = 7").select("id", "s")))
    }
  }

  test("chunks that lie beside decoded columns give their memory back with each file") {
    val strings = (1 to 8).map(n => s"concat('value ', id % 50 + $n) AS s$n")
    spark.range(0, 400L * 4096, 1, 400).selectExpr(strings :+ "array(id) AS list": _*)
      .write.parquet(path("manyFiles"))
    val columns = (1 to 8).map(n => s"sum(length(s$n))") :+ "sum(list[0])"
    def query = spark.read.parquet(path("manyFiles")).selectExpr(columns: _*)
    vectors {
      // All files in one task.
      withConf(
        "spark.sql.files.maxPartitionBytes" -> "1g",
        "spark.sql.files.openCostInBytes" -> "0",
        "spark.sql.files.minPartitionNum" -> "1") {
        query.collect()
        val before = NativeMemory.heldByMalloc()
        var most = 0L
        val watch = new Thread(() =>
          try {
            while (!Thread.interrupted()) {
              most = math.max(most, NativeMemory.heldByMalloc() - before)
              Thread.sleep(5)
            }
          } catch { case _: InterruptedException => () })
        watch.start()
        val (_, counters) =
          try counting(query.collect())
          finally {
            watch.interrupt()
            watch.join()
          }
        assert(counters.chunksHit === 9 * 400)
        assert(most < (32L << 20), "of 400 files with 8 columns each")
      }
    }
  }
}
