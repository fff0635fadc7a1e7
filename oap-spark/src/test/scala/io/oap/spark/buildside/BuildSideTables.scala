package io.oap.spark.buildside

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan

import io.oap.spark.{CacheControl, CacheSuite}

/** A star of cached tables, and what tests of kept build sides ask of queries on it. */
private[buildside] trait BuildSideTables { this: CacheSuite =>

  protected def sql(text: String): DataFrame = spark.sql(text)

  protected def createTables(): Unit = {
    spark.range(0, 20000, 1, 2)
      .selectExpr(
        "id",
        "CAST(id % 100 AS INT) AS item",
        "CAST(id % 7 AS INT) AS day",
        "IF(id % 50 = 3, NULL, CAST(id % 100 AS STRING)) AS code")
      .write.partitionBy("day").saveAsTable("sales")
    spark.range(0, 100, 1, 1)
      .selectExpr(
        "CAST(id AS INT) AS item",
        "CAST(id AS STRING) AS code",
        "CAST(id % 5 AS INT) AS brand",
        "CAST('2024-03-10 01:30:00' AS TIMESTAMP) + make_interval(0, 0, 0, 0, CAST(id % 24 AS INT)) AS made"
      )
      .write.saveAsTable("items")
    spark.range(0, 5, 1, 1)
      .selectExpr(
        "CAST(id AS INT) AS brand",
        "concat('brand ', id) AS name").write.saveAsTable("brands")
    spark.range(0, 7, 1, 1)
      .selectExpr(
        "CAST(id AS INT) AS day",
        "CAST(id % 3 AS INT) AS month").write.saveAsTable("days")
  }

  /** What is kept, once what the last query has built is. */
  protected def sides: BuildSideFigures = figures(kept.broadcasts)

  protected def kept: BuildSides = BuildSides.of(spark.sparkContext)

  protected def figures(sides: KeptSides[_]): BuildSideFigures = {
    sides.settle()
    sides.figures
  }

  /** Runs the body, and returns how many build sides it found and how many it built to be kept. */
  protected def asked(body: => Unit): (Long, Long) = askedOf(kept.broadcasts)(body)

  private def askedOf(sides: KeptSides[_])(body: => Unit): (Long, Long) = {
    val before = figures(sides)
    body
    val after = figures(sides)
    (after.hits - before.hits, after.misses - before.misses)
  }

  /** Runs the body, and returns how many shuffles it found and how many it wrote to be kept. */
  protected def askedShuffles(body: => Unit): (Long, Long) = askedOf(kept.shuffles)(body)

  /** Asserts equal rows alone, with a side that is built, and with those that are kept of it. */
  protected def assertKept(query: => DataFrame): Unit = {
    val expected = alone(rows(query))
    CacheControl.clear(spark)
    assertKept(query, expected)
  }

  /** Asserts these rows with a side that is built, as none is kept yet, and with those that are kept of it. */
  protected def assertKept(query: => DataFrame, expected: Seq[String]): Unit = {
    assert(expected.nonEmpty)
    val (_, built) = asked(assertRows(rows(query), expected, "cold run"))
    assert(built > 0 && sides.sides > 0, "no side was kept")
    val (hits, misses) = asked(assertRows(rows(query), expected, "second run"))
    assert(hits > 0 && misses === 0)
  }

  /** Asserts rows as alone with a side that is built again, and then with the one that is kept. */
  protected def assertBuiltAgain(query: => DataFrame, why: String): Unit = {
    val expected = alone(rows(query))
    assert(asked(assertRows(rows(query), expected, why)) === ((0, 1)), why)
    assertTaken(query, expected, why)
  }

  /** Asserts rows as alone with the one side that is kept. */
  protected def assertTaken(query: => DataFrame, why: String): Unit =
    assertTaken(query, alone(rows(query)), why)

  private def assertTaken(query: => DataFrame, expected: Seq[String], why: String): Unit =
    assert(asked(assertRows(rows(query), expected, why)) === ((1, 0)), why)

  /** Asserts equal rows of a query of which nothing is kept. */
  protected def assertNotKept(query: => DataFrame): Unit = {
    val expected = alone(outcome(query))
    CacheControl.clear(spark)
    for (run <- Seq("first run", "second run")) assertOutcome(outcome(query), expected, run)
    assert(sides.sides === 0)
  }

  /** INSERT, DELETE, UPDATE and MERGE of a table with some of the brands, each of which changes a star's rows. */
  protected def changes(table: String): Seq[String] = Seq(
    s"INSERT INTO $table VALUES (77, 'z last', 1)",
    s"DELETE FROM $table WHERE brand = 1",
    s"UPDATE $table SET name = 'zz updated' WHERE brand = 2",
    s"""MERGE INTO $table t USING (SELECT brand + 2 AS brand, name FROM brands) s
    ON t.brand = s.brand WHEN MATCHED AND t.brand = 3 THEN DELETE
    WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (brand, name) VALUES (s.brand, s.name)"""
  )

  /** Makes each change, and asserts that the side of a query is built again then. */
  protected def assertEachIsSeen(changes: Seq[String])(query: => DataFrame): Unit =
    changes.foreach { change =>
      sql(change)
      assertBuiltAgain(query, change)
    }

  /** Makes each change, and asserts that a join of two shuffles writes one again then, and no other time. */
  protected def assertShufflesFollow(changes: Seq[String])(query: => DataFrame): Unit = {
    CacheControl.clear(spark)
    rows(query)
    changes.foreach { change =>
      sql(change)
      val expected = alone(rows(query))
      for (found <- 1 to 2) {
        val counts = askedShuffles(assertRows(rows(query), expected, change))
        assert(counts === ((found, 2 - found)), change)
      }
    }
  }

  protected def exchanges(plan: SparkPlan): Seq[KeptBroadcastExec] =
    collectWithSubqueries(plan) { case exchange: KeptBroadcastExec => exchange }
}
