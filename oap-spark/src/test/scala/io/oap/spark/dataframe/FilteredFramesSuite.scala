package io.oap.spark.dataframe

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.ColumnarToRowExec

import io.oap.cache.stats.{CacheCounters, Figure}

/** Queries on cached DataFrames drop rows where these lie, by conditions and by join keys. */
class FilteredFramesSuite extends FramesInPool {
  private val Facts = "SELECT id, id % 1000 k, cast(id / 100 AS int) ascending, " +
    "if(id % 9 = 0, null, cast(id % 50 AS decimal(9, 2))) price, " +
    "if(id % 7 = 0, null, concat('n', id % 77)) s, cast(id % 30 AS double) / 4 d, " +
    "cast(concat('b', id % 20) AS binary) b FROM range(0, 200000, 1, 3)"

  /** Gives the rows of a query of the view `facts` uncached and cached, and what the latter counted. */
  private def assertSame(query: String): CacheCounters = {
    val facts = spark.sql(Facts)
    facts.createOrReplaceTempView("facts")
    val plain = rows(spark.sql(query))
    cached(facts) { _ =>
      assertRows(rows(spark.sql(query)), plain, s"filled: $query")
      val (found, counted) = counting(rows(spark.sql(query)))
      assertRows(found, plain, query)
      withConf("spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false") {
        assertRows(rows(spark.sql(query)), plain, s"by rows: $query")
      }
      withConf("spark.oap.cache.dataframes" -> "false") {
        val (off, none) = counting(rows(spark.sql(query)))
        assertRows(off, plain, s"switched off: $query")
        assert(dropped(none) === 0, query)
      }
      counted
    }
  }

  private def dropped(counted: CacheCounters): Long =
    counted.get(Figure.ROWS_DROPPED) + counted.get(Figure.ZONES_SKIPPED)

  test("conditions_onOneColumn_dropRows") {
    for (condition <- Seq(
        "k = 17",
        "k IN (3, 500) AND price > 10",
        "ascending BETWEEN 100 AND 120",
        "price = 3",
        "price IS NULL",
        "s = 'n5'",
        "s IN ('n1', 'n2') AND d >= 7",
        "s IS NULL AND k < 100",
        "d < 0.5",
        "b = cast('b3' AS binary)"
      )) {
      val counted = assertSame(s"SELECT id, price, s, d FROM facts WHERE $condition")
      assert(dropped(counted) > 0, condition)
    }
  }

  test("conditions_onColumnsThatAreNotShown_dropRows") {
    assert(dropped(assertSame("SELECT count(*) FROM facts WHERE k = 17")) > 0)
    assert(dropped(assertSame("SELECT sum(d) FROM facts WHERE s = 'n5' OR k = 1")) === 0)
    for (condition <- Seq(
        "k = 17 AND rand(7) < 0.5",
        "rand(7) < 0.5 AND k = 17",
        "(s IS NOT NULL OR k > 3) AND rand(7) < 0.5 AND price = 3"
      )) assertSame(s"SELECT id FROM facts WHERE $condition")
  }

  test("batchesOfSparksSerializer_besideRandomNumbers_arePassedOver") {
    val some = "rand(7) < 0.5 AND id BETWEEN 30000 AND 30100"
    for ((columns, areOurs) <- Seq("id, make_interval(1) a" -> "true", "id" -> "false"))
      withConf(
        "spark.oap.cache.dataframes" -> areOurs,
        "spark.sql.inMemoryColumnarStorage.batchSize" -> "10000") {
        def of(from: Int, to: Int) =
          spark.range(from, to, 1, 1).selectExpr(columns.split(", ").toSeq: _*)
        cached(of(0, 60000)) { frame =>
          assertRows(rows(frame.where(some)), rows(of(30000, 40000).where(some)), columns)
        }
      }
  }

  test("conditions_thatNoRowMeets_giveNone") {
    assert(dropped(assertSame("SELECT * FROM facts WHERE k = 5000")) === 0, "no batch is read")
    assert(dropped(assertSame("SELECT * FROM facts WHERE ascending = 3 AND k = 999")) > 0)
  }

  test("columns_withOneName_areNotTakenForOneAnother") {
    def twice: DataFrame = {
      val left = spark.sql("SELECT id, id % 10 k FROM range(50000)")
      val right = spark.sql("SELECT id, id % 7 k FROM range(50000)")
      left.join(right, left("id") === right("id")).select(left("id"), left("k"), right("k"))
        .filter(left("k") === 3).filter(right("k") === 4)
    }
    val plain = rows(twice)
    val frame = spark.sql("SELECT id, id % 10 k FROM range(50000)").as("a")
      .join(spark.sql("SELECT id, id % 7 k FROM range(50000)").as("b"), "id")
    cached(frame) { frame =>
      frame.count()
      val found = frame.select("id", "a.k", "b.k").where("a.k = 3 AND b.k = 4")
      assertRows(rows(found), plain, "two columns k")
    }
  }

  test("joins_withABroadcast_dropRowsByItsKeys") {
    spark.sql("SELECT id key, concat('name', id) name, id % 100 kind FROM range(1000)")
      .createOrReplaceTempView("dimension")
    for (query <- Seq(
        "SELECT name, sum(price) FROM facts JOIN dimension ON k = key WHERE kind = 7 GROUP BY name",
        "SELECT name, f.* FROM facts f JOIN dimension ON k = key WHERE kind = 7 AND d > 3",
        "SELECT id FROM facts WHERE k IN (SELECT key FROM dimension WHERE kind = 9)",
        "SELECT count(*) FROM facts JOIN dimension ON ascending = key AND s = 'n3' WHERE kind = 7"
      )) {
      assert(dropped(assertSame(query)) > 0, query)
    }
    for (query <- Seq(
        "SELECT count(name), count(*) FROM facts LEFT JOIN dimension ON k = key AND kind = 7",
        "SELECT count(*) FROM facts WHERE k NOT IN (SELECT key FROM dimension WHERE kind = 9)",
        "SELECT count(*) FROM facts JOIN dimension ON d = key / 4.0D WHERE kind = 7"
      )) {
      assert(dropped(assertSame(query)) === 0, query)
    }
    withConf("spark.sql.optimizer.dynamicPartitionPruning.enabled" -> "false") {
      val query = "SELECT sum(price) FROM facts JOIN dimension ON k = key WHERE kind = 7"
      assert(dropped(assertSame(query)) === 0)
    }
  }

  test("exchanges_thatWereEqual_areStillMadeOnce") {
    spark.sql("SELECT id key, id % 100 kind FROM range(1000)").createOrReplaceTempView("dimension")
    val part = "SELECT k, count(*) n FROM facts JOIN dimension ON k = key WHERE kind < 5 GROUP BY k"
    val counted = assertSame(s"SELECT * FROM ($part) a JOIN ($part) b ON a.k = b.k + 1")
    assert(dropped(counted) > 0)
  }

  test("joins_withAWholeTable_giveNoKeys") {
    spark.sql("SELECT id key, id % 2 half FROM range(100000)").createOrReplaceTempView("dimension")
    val join = "SELECT count(half), sum(price) FROM facts JOIN dimension ON id = key"
    assert(dropped(assertSame(join)) === 0, "of all keys")
    assert(dropped(assertSame(s"$join WHERE half IS NOT NULL")) === 0, "of all that are not null")
    assert(dropped(assertSame(s"$join WHERE half < 1 AND key < 10000")) > 0, "of some")
  }

  /** Facts and customers are shuffled for their join, the days above it are broadcast. */
  private def shuffling(body: => Unit): Unit = {
    spark.sql("SELECT id day, id % 100 weekday FROM range(1000)").createOrReplaceTempView("days")
    spark.sql(
      "SELECT id customer, concat('a customer with a long name ', id) name FROM range(0, 200000, 3)")
      .createOrReplaceTempView("customers")
    // Both are known to be larger, and Spark would not broadcast them once it has them.
    withConf(
      "spark.sql.autoBroadcastJoinThreshold" -> "100KB",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "20KB")(body)
  }

  private val Join = "FROM facts JOIN customers ON id = customer JOIN days ON k = day"

  test("joins_aboveAShuffle_dropRowsBeforeIt") {
    shuffling {
      for (query <- Seq(
          s"SELECT count(*), sum(price) $Join WHERE weekday = 7",
          s"SELECT name, s $Join WHERE weekday = 7 AND d > 3",
          "SELECT count(name) FROM (SELECT *, k AS other FROM facts) JOIN customers ON id = customer " +
            "JOIN days ON other = day WHERE weekday = 7",
          "SELECT count(name) FROM facts JOIN customers ON id = customer " +
            "WHERE k IN (SELECT day FROM days WHERE weekday = 9)"
        )) assert(dropped(assertSame(query)) > 0, query)
      for (query <- Seq(
          s"SELECT count(*) $Join",
          "SELECT count(weekday), count(*) FROM facts JOIN customers ON id = customer " +
            "LEFT JOIN days ON k = day AND weekday = 7",
          "SELECT count(*) FROM (SELECT * FROM facts JOIN customers ON id = customer LIMIT 9000) " +
            "JOIN days ON k < 0 OR k = day WHERE weekday = 7"
        )) assert(dropped(assertSame(query)) === 0, query)
    }
  }

  test("joinsAboveAShuffle_ofADataFrameThatStandsTwice_giveNoKeys") {
    shuffling {
      val part = s"(SELECT id, count(*) n $Join WHERE weekday = 7 GROUP BY id)"
      val twice = s"SELECT count(*) FROM $part a JOIN $part b ON a.id = b.id"
      assert(dropped(assertSame(twice)) === 0)
      assert(dropped(assertSame(s"SELECT (SELECT sum(n) FROM $part) + sum(n) FROM $part")) === 0)
    }
  }

  test("joinsAboveAShuffle_ofPlansThatAreNotAdaptive_giveNoKeys") {
    shuffling {
      withConf("spark.sql.adaptive.enabled" -> "false") {
        assert(dropped(assertSame(s"SELECT count(*) $Join WHERE weekday = 7")) === 0)
      }
    }
  }

  test("scans_ofAdaptivePlans_giveColumns") {
    def reads(query: DataFrame) = collect(executed(query)) { case row: ColumnarToRowExec =>
      row
    }.size
    cached(spark.sql(Facts)) { frame =>
      frame.count()
      assert(reads(frame.groupBy("k").count()) === 1)
      withConf("spark.sql.inMemoryColumnarStorage.enableVectorizedReader" -> "false") {
        assert(reads(frame.groupBy("k").count()) === 0)
      }
    }
  }
}
