package io.oap.spark.optimizer

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{BaseSubqueryExec, ReusedSubqueryExec, SparkPlan}

import io.oap.cache.stats.Figure
import io.oap.spark.CacheSuite

/** Subqueries that decide what is read of a table do so with the cache, too. */
class SubqueryPruningSuite extends CacheSuite {

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    spark.range(0, 1000, 1, 1).selectExpr("id", "cast(id % 20 AS int) AS p")
      .write.partitionBy("p").saveAsTable("parts")
    spark.range(0, 20000, 1, 1).selectExpr("id", "id / 7.0D AS d")
      .write.options(rowGroupsOf(2000)).saveAsTable("groups")
    spark.range(0, 5, 1, 1).selectExpr("cast(id AS int) AS k").createOrReplaceTempView("keys")
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  private def each(body: => Unit): Unit =
    for (adaptive <- Seq("true", "false")) withConf("spark.sql.adaptive.enabled" -> adaptive)(body)

  private def subqueries(plan: SparkPlan): Seq[BaseSubqueryExec] =
    collectWithSubqueries(plan) { case one: SparkPlan => one.subqueries }.flatten.collect {
      case reused: ReusedSubqueryExec => reused.child
      case subquery: BaseSubqueryExec => subquery
    }

  test("a partition column that equals a scalar subquery") {
    each {
      for (subquery <- Seq("(SELECT max(k) FROM keys)", "(SELECT 4 FROM keys LIMIT 1)")) {
        def query = sql(s"SELECT sum(id) FROM parts WHERE p = $subquery AND id > 10")
        assert(assertSameRows(query).chunksHit === 1, "one partition of twenty is read")
        assert(subqueries(executed(query)).map(System.identityHashCode(_)).distinct.size === 1)
      }
      def reversed = sql("SELECT id FROM parts WHERE (SELECT min(k) FROM keys) = p")
      assert(assertSameRows(reversed).chunksHit === 1)
      def both = sql(
        "SELECT a.id FROM parts a JOIN parts b ON a.id = b.id WHERE a.p = (SELECT max(k) FROM keys)")
      assert(assertSameRows(both).chunksHit > 0)
    }
  }

  test("a data column that equals a scalar subquery") {
    each {
      def query = sql("SELECT d FROM groups WHERE id = (SELECT max(k) + 5000L FROM keys)")
      assertSameRows(query)
      val (_, counters) = counting(query.collect())
      assert(counters.get(Figure.ROW_GROUPS_PRUNED) === 9)
      assertSameRows(sql("SELECT id FROM groups WHERE d = (SELECT max(k) * 0.0D FROM keys)"))
    }
  }

  test("a scalar subquery without a value, and one with too many") {
    each {
      for (table <- Seq("parts", "groups"); column = if (table == "parts") "p" else "id") {
        for (subquery <-
            Seq("SELECT max(k) FROM keys WHERE k > 9", "SELECT k FROM keys WHERE k > 9"))
          assert(
            assertSameOutcome(sql(s"SELECT id FROM $table WHERE $column = ($subquery)")) === Right(
              Nil))
        assert(
          assertSameOutcome(
            sql(s"SELECT id FROM $table WHERE $column = (SELECT k FROM keys)")).isLeft)
      }
    }
  }

  test("what only a V1 scan can prune by stays one") {
    each {
      for (condition <- Seq(
          "p >= (SELECT max(k) FROM keys)",
          "p + 1 = (SELECT max(k) FROM keys)",
          "p IN (SELECT CAST(k AS BIGINT) FROM keys WHERE k % 2 = 1)",
          "EXISTS (SELECT 1 FROM keys WHERE CAST(k AS BIGINT) = parts.p AND k % 2 = 1)"
        )) {
        def query = sql(s"SELECT count(id) FROM parts WHERE $condition")
        assert(cachedScans(executed(query)).isEmpty, condition)
        assertSameRows(query)
      }
      assert(cachedScans(executed(
        sql("SELECT count(id) FROM parts WHERE p IN (SELECT k FROM keys WHERE k > 1)"))).nonEmpty)
      assert(cachedScans(executed(
        sql("SELECT count(id) FROM parts WHERE id > (SELECT max(k) FROM keys)"))).nonEmpty)
    }
  }

  test("conditions are evaluated in the order of the query") {
    sql("CREATE TABLE zeros USING parquet AS SELECT id AS k FROM range(10)")
    spark.udf.register("never", () => false)
    assert(assertSameOutcome(
      sql("SELECT k FROM zeros WHERE never() AND 100 / k > 20")) === Right(Nil))
    each {
      for (guard <- Seq("k > (SELECT min(id) FROM range(3))", "(SELECT max(k) FROM keys) < k"))
        assert(
          assertSameOutcome(sql(s"SELECT k FROM zeros WHERE $guard AND 100 / k > 1")).isRight)
      // A condition that may itself fail does not come before one that keeps rows from it.
      assert(
        assertSameOutcome(
          sql("SELECT k FROM zeros WHERE k > 0 AND 100 / k > (SELECT max(k) FROM keys)")).isRight)
    }
  }

  test("a correlated subquery with joins is pruned by the conditions around it") {
    each {
      def lateral = sql(
        """SELECT a.id, t.id FROM parts a, LATERAL (
          |  SELECT b.id FROM parts b JOIN keys ON b.id % 5 = k WHERE b.p = a.p) t
          |WHERE a.p = 3 AND a.id < 100""".stripMargin)
      // Else a side that is kept is not read again.
      withConf("spark.oap.buildsides.enabled" -> "false") {
        assert(assertSameRows(lateral).chunksHit === 2, "one partition of each")
      }
      def exists = sql(
        """SELECT id FROM groups g WHERE EXISTS (
          |  SELECT * FROM parts b JOIN keys ON b.p = k WHERE b.id = g.id)""".stripMargin)
      assertSameRows(exists)
      assert(cachedScans(executed(exists)).size === 2)
    }
  }

  test("a subquery within a subquery that Spark makes a join there") {
    each {
      def nested = sql(
        """SELECT id FROM groups WHERE id < (
          |  SELECT avg(id) FROM parts WHERE EXISTS (SELECT 1 FROM groups g WHERE g.id = parts.id)
          |)""".stripMargin)
      assertSameRows(nested)
      assert(cachedScans(executed(nested)).size === 3)
    }
  }

  test("a global view is read by the settings of the session that made it") {
    val other = spark.newSession()
    other.read.parquet(path("warehouse/groups")).createGlobalTempView("made")
    val scan = cachedScans(executed(sql("SELECT id FROM global_temp.made"))).head
    assert(scan.sparkSession eq other)
  }
}
