package io.oap.spark.framescan

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarToRowExec, FilterExec}
import org.apache.spark.sql.functions.col
import org.apache.spark.storage.StorageLevel

/** Cached DataFrames in adaptive plans: they are read by columns, and drop rows by keys of joins above a shuffle. */
class JoinedFramesSuite extends FilteredFrames {

  test("joins_withAWholeTable_giveNoKeys") {
    // So many keys that they are to leave rows out, and few beside the facts.
    spark.range(9000).selectExpr("id key", "id % 2 half").write.parquet(path("whole"))
    val facts = spark.range(0, 600000, 1, 2).selectExpr("id", "id % 20000 k")
    def table: DataFrame = spark.read.parquet(path("whole"))
    cached(facts) { facts =>
      facts.count()
      def dropsRows(side: DataFrame): Boolean = {
        val join =
          facts.join(side.hint("broadcast"), col("k") === col("key")).groupBy("half").count()
        rows(join)
        dropped(counting(rows(join))._2) > 0
      }
      assert(!dropsRows(table), "a table")
      assert(!dropsRows(table.where("key IS NOT NULL")), "what is not null")
      assert(dropsRows(table.where("key >= 0 AND half < 2")), "rows by a condition")
      val whole = table.persist(StorageLevel.DISK_ONLY)
      try assert(!dropsRows(whole), "a cached table")
      finally whole.unpersist(blocking = true)
      val some = table.where("half < 2").persist(StorageLevel.DISK_ONLY)
      try assert(dropsRows(some), "cached rows by a condition")
      finally some.unpersist(blocking = true)
    }
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
          "SELECT count(*) > 0 FROM (SELECT * FROM facts JOIN customers ON id = customer LIMIT 9000) " +
            "JOIN days ON k = day WHERE weekday < 50",
          "SELECT k, n FROM (SELECT k, count(*) n FROM facts JOIN customers ON id = customer GROUP BY k) " +
            "JOIN days ON k = day WHERE weekday = 7",
          "SELECT k, r FROM (SELECT k, row_number() OVER (PARTITION BY k ORDER BY id) r FROM facts " +
            "JOIN customers ON id = customer) JOIN days ON k = day WHERE weekday = 7"
        )) assert(dropped(assertSame(query)) === 0, query)
    }
  }

  /** Whether the optimizer has given the facts keys. */
  private def isPruned(query: String): Boolean =
    spark.sql(query).queryExecution.optimizedPlan.toString.contains("dynamicpruning")

  test("joinsAboveAShuffle_withRowsThatMayBeOthersNextTime_giveNoKeys") {
    shuffling {
      val query = s"SELECT count(*), sum(price) $Join WHERE weekday = 7"
      for (level <- Seq(StorageLevel.DISK_ONLY, StorageLevel.MEMORY_ONLY_SER)) {
        val days = spark.table("days").persist(level)
        try {
          assertSame(query)
          cached(spark.sql(Facts)) { facts =>
            facts.count()
            facts.createOrReplaceTempView("facts")
            assert(isPruned(query) === level.useDisk, level)
          }
        } finally days.unpersist(blocking = true)
      }
      for (others <- Seq(
          "SELECT id day, id % 100 weekday FROM range(1000) WHERE rand(5) < 0.9",
          "SELECT id day, id % 100 weekday FROM range(1000) LIMIT 900",
          "SELECT id day, id % 100 weekday FROM range(1000) WHERE id < (SELECT max(id) FROM range(9000))"
        )) {
        spark.sql(others).createOrReplaceTempView("days")
        assert(dropped(assertSame(query)) === 0, others)
      }
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

  /** Filters are evaluated in tasks where they are no generated code of a whole stage. */
  test("joinsAboveAShuffle_withFiltersThatAreNotGenerated_dropRows") {
    shuffling {
      val query = s"SELECT count(*), sum(price) $Join WHERE weekday = 7"
      for (condition <- Seq("", " AND exists(array(k, 5), one -> one > 3)"))
        for (isWhole <- Seq("true", "false")) {
          withConf("spark.sql.codegen.wholeStage" -> isWhole) {
            assert(dropped(assertSame(query + condition)) > 0, s"$condition $isWhole")
          }
        }
      cached(spark.sql(Facts)) { facts =>
        facts.count()
        facts.createOrReplaceTempView("facts")
        val filters = collect(executed(spark.sql(query))) { case filter: FilterExec => filter }
        assert(
          !filters.exists(_.condition.exists(_.isInstanceOf[DynamicPruningExpression])),
          filters)
      }
    }
  }

  test("joinsAboveAShuffle_ofRowsThatSparkKeeps_giveNoKeys") {
    shuffling {
      withConf("spark.oap.cache.dataframes" -> "false") {
        cached(spark.sql(Facts)) { facts =>
          facts.count()
          facts.createOrReplaceTempView("facts")
          val query = s"SELECT count(*), sum(price) $Join WHERE weekday = 7"
          val plain = rows(spark.sql(query))
          withConf("spark.oap.cache.dataframes" -> "true") {
            assert(!isPruned(query))
            assertRows(rows(spark.sql(query)), plain, "Spark's batches")
          }
        }
      }
    }
  }

  test("rulesOfUsers_stayBesideOurs") {
    val theirs = spark.experimental.extraOptimizations
    object Nothing extends Rule[LogicalPlan] {
      override def apply(plan: LogicalPlan): LogicalPlan = plan
    }
    spark.experimental.extraOptimizations = Seq(Nothing)
    try {
      for (session <- Seq(spark, spark.newSession())) {
        session.range(3).count()
        session.range(3).count()
        val rules = session.experimental.extraOptimizations
        assert(rules.count(_ == KeysBelowShuffles) === 1, rules)
      }
      assert(spark.experimental.extraOptimizations.contains(Nothing))
    } finally spark.experimental.extraOptimizations = theirs
  }
}
