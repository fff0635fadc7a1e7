package io.oap.spark.dataframe

import scala.concurrent.duration._

import org.apache.spark.sql.DataFrame
import org.apache.spark.storage.StorageLevel
import org.scalatest.concurrent.Eventually.{eventually, timeout}

/** DataFrames that are cached in the pool give the rows that they give uncached. */
class DataFrameSuite extends FramesInPool {

  test("types_flat_giveTheSameRows") {
    assertCached(flat(30000))
    assertCached(flat(10))
    assertCached(flat(0))
  }

  test("types_flat_giveTheSameRowsByRow") {
    withConf("spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false") {
      assertCached(flat(30000))
    }
  }

  test("batches_ofManyZones_giveTheSameRows") {
    assertCached(
      spark.sql("SELECT id, id % 1000 k, concat('n', id % 77) s FROM range(0, 200000, 1, 1)"))
  }

  test("aqe_off_givesTheSameRows") {
    withConf("spark.sql.adaptive.enabled" -> "false")(assertCached(flat(20000)))
  }

  test("types_thatHaveNoForm_areLeftToSpark") {
    val query = "SELECT id, make_interval(0, 1, 0, cast(id AS int)) i FROM range(5000)"
    cached(spark.sql(query)) { frame =>
      assertRows(rows(frame), rows(spark.sql(query)), "intervals")
      assert(poolBytes === 0)
    }
  }

  test("columns_none_giveTheirCount") {
    cached(flat(30000)) { frame =>
      assert(frame.count() === 30000)
      assert(frame.filter("int > 100").count() === flat(30000).filter("int > 100").count())
    }
    cached(spark.range(100).select())(frame => assert(frame.count() === 100))
  }

  test("levels_all_giveTheSameRows") {
    val plain = rows(flat(12000))
    import StorageLevel._
    for (level <- Seq(
        MEMORY_ONLY,
        MEMORY_AND_DISK,
        DISK_ONLY,
        MEMORY_ONLY_SER,
        MEMORY_AND_DISK_SER,
        OFF_HEAP,
        NONE)) {
      val frame = flat(12000).persist(level)
      try {
        assertRows(rows(frame), plain, s"filled at $level")
        assertRows(rows(frame), plain, s"read again at $level")
        assert(poolBytes > 0 === Set(MEMORY_ONLY, MEMORY_AND_DISK).contains(level), level)
      } finally frame.unpersist(blocking = true)
      assert(poolBytes === 0, level)
    }
  }

  test("strings_longerThanAZoneTakes_stayRows") {
    val query = "SELECT id, repeat(cast(id AS string), 30000000) s FROM range(0, 3, 1, 1)"
    cached(spark.sql(query)) { frame =>
      val lengths = "SELECT id, length(s), substr(s, 20000000, 3), hash(s) FROM t"
      frame.createOrReplaceTempView("t")
      val found = rows(spark.sql(lengths))
      frame.unpersist(blocking = true)
      spark.sql(query).createOrReplaceTempView("t")
      assertRows(found, rows(spark.sql(lengths)), "long strings")
    }
  }

  test("caches_ofSparksOwn_overOurs_giveTheSameRows") {
    def assertSame(outer: => DataFrame): Unit = {
      val expected = rows(outer)
      outer.cache()
      try for (_ <- 1 to 2) assertRows(rows(outer), expected, outer.schema.simpleString)
      finally outer.unpersist(blocking = true): Unit
    }
    cached(flat(9000)) { inner =>
      inner.count()
      assertSame(inner.selectExpr("struct(id, string) AS s"))
      assertSame(inner.selectExpr("array(id, id + 1) AS a", "id"))
      withConf("spark.oap.cache.dataframes" -> "false")(assertSame(inner.select("id", "string")))
    }
  }

  test("caches_ofCaches_giveTheSameRows") {
    val query = flat(9000)
    cached(flat(9000)) { inner =>
      inner.createOrReplaceTempView("inner_frame")
      cached(spark.sql("SELECT string, count(*) n, max(large) m FROM inner_frame GROUP BY 1")) {
        outer =>
          query.createOrReplaceTempView("plain_frame")
          val join = "SELECT a.*, b.n, b.m FROM %s a JOIN %s b ON a.string = b.string"
          outer.createOrReplaceTempView("outer_frame")
          val actual = rows(spark.sql(join.format("inner_frame", "outer_frame")))
          val twice = rows(spark.sql(
            "SELECT a.id, b.double FROM inner_frame a JOIN inner_frame b ON a.id = b.id"))
          assert(twice.size === 9000)
          inner.unpersist(blocking = true)
          outer.unpersist(blocking = true)
          spark.sql("SELECT string, count(*) n, max(large) m FROM plain_frame GROUP BY 1")
            .createOrReplaceTempView("plain_outer")
          assertRows(actual, rows(spark.sql(join.format("plain_frame", "plain_outer"))), "join")
      }
    }
  }

  test("tables_cachedInSql_useThePoolUntilUncached") {
    spark.sql("CACHE TABLE words AS SELECT id, concat('w', id % 10) word FROM range(100000)")
    try {
      assert(poolBytes > 0)
      assert(spark.sql("SELECT word FROM words WHERE word = 'w3'").count() === 10000)
    } finally spark.sql("UNCACHE TABLE words")
    // The command does not wait for the blocks to go.
    eventually(timeout(20.seconds))(assert(poolBytes === 0))
  }

  test("session_switchedOff_isSparkAlone") {
    for (key <- Seq("spark.oap.cache.dataframes", "spark.oap.cache.enabled")) {
      withConf(key -> "false") {
        val query = flat(5000)
        val plain = rows(query)
        cached(flat(5000)) { frame =>
          assertRows(rows(frame), plain, "off")
          assert(poolBytes === 0, key)
          withConf(key -> "true")(assertRows(rows(flat(5000)), plain, "read by one that is on"))
        }
      }
    }
    val plain = rows(flat(5000))
    cached(flat(5000)) { frame =>
      frame.count()
      assert(poolBytes > 0)
      withConf("spark.oap.cache.dataframes" -> "false")(
        assertRows(rows(flat(5000)), plain, "read by one that is off"))
    }
  }

  test("statistics_areThoseOfSpark") {
    def size(isOn: Boolean): (BigInt, Option[BigInt]) =
      withConf("spark.oap.cache.dataframes" -> isOn.toString) {
        cached(flat(20000)) { frame =>
          frame.count()
          val statistics = flat(20000).queryExecution.optimizedPlan.stats
          (statistics.sizeInBytes, statistics.rowCount)
        }
      }
    assert(size(isOn = true) === size(isOn = false))
  }

  test("conditions_passOverBatches_andLoseNoRow") {
    val query = "SELECT id, cast(id AS double) / 2 x, cast(id AS decimal(30, 2)) d, " +
      "lpad(cast(id AS string), 9, '0') s FROM range(0, 400000, 1, 2)"
    def frame(condition: String): DataFrame = spark.sql(query).where(condition)
    val conditions = Seq(
      "id = 399999",
      "id IN (3, 250000)",
      "x > 199000.25",
      "d = 123456",
      "s LIKE '00012%'",
      "s = '000399999'",
      "id IS NULL",
      "x IS NOT NULL AND id < 10",
      "id < 5 OR s >= '000399990'",
      "id > 400000"
    )
    val expected = conditions.map(c => rows(frame(c)))
    withConf("spark.sql.inMemoryTableScanStatistics.enable" -> "true") {
      cached(spark.sql(query)) { _ =>
        for ((condition, plain) <- conditions.zip(expected)) {
          assertRows(rows(frame(condition)), plain, condition)
        }
        withConf("spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false") {
          assert(batchesRead(frame("id = 399999")) === 1)
          assert(batchesRead(frame("id >= 0")) === 4)
        }
      }
    }
  }

  test("batches_sizedByTheSession_haveAsManyRows") {
    withConf(
      "spark.sql.inMemoryColumnarStorage.batchSize" -> "50000",
      "spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false",
      "spark.sql.inMemoryTableScanStatistics.enable" -> "true"
    ) {
      cached(spark.range(0, 400000, 1, 4).toDF()) { frame =>
        assert(batchesRead(frame.where("id >= 0")) === 8)
      }
    }
  }

  test("bounds_ofNotANumber_loseNoRow") {
    val query = "SELECT if(id % 2 = 0, double('NaN'), -0.0D) x, float('NaN') y FROM range(100)"
    val conditions = Seq("x > 1", "x = double('NaN')", "x = 0.0", "y = float('NaN')", "x < 1")
    val expected = conditions.map(c => rows(spark.sql(query).where(c)))
    cached(spark.sql(query)) { _ =>
      for ((condition, plain) <- conditions.zip(expected)) {
        assertRows(rows(spark.sql(query).where(condition)), plain, condition)
      }
    }
  }

  test("limit_leavesABatchUnread_andItsPinsEnd") {
    cached(flat(100000)) { frame =>
      frame.count()
      assert(frame.limit(3).collect().length === 3)
      assert(frame.select("id", "string").take(2).length === 2)
    }
  }
}
