package io.oap.spark.framescan

import org.apache.spark.sql.DataFrame

/** Queries on cached DataFrames drop rows where these lie, by conditions and by join keys. */
class FilteredFramesSuite extends FilteredFrames {
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
}
