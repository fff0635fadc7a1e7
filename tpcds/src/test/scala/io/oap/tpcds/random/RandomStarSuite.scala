package io.oap.tpcds.random

import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.random.Outcome.{Failure, Rows}

/** What dev/random-queries writes and how it compares. */
class RandomStarSuite extends AnyFunSuite {
  private def star(seed: Long) = new Star(seed, s"/stars/$seed")

  test("a seed makes the same star and the same queries") {
    assert(star(7).statements === star(7).statements)
    assert(star(7).statements !== star(8).statements)
    val queries = Seq.fill(2)((0 until 50).map(new Query(_, star(7))))
    assert(queries.head.map(_.sql) === queries.last.map(_.sql))
    assert(queries.head.map(_.settings) === queries.last.map(_.settings))
    assert(queries.head.map(_.sql).distinct.size > 40)
  }

  test("every query is SQL, and every kind of it is written") {
    val queries = for (seed <- 1 to 20; number <- 0 until 60) yield {
      new Query(seed * 1000 + number, star(seed))
    }
    queries.foreach(query => withClue(query.sql)(CatalystSqlParser.parsePlan(query.sql)))
    val wanted = Set(
      "INNER JOIN",
      "LEFT OUTER JOIN",
      "RIGHT OUTER JOIN",
      "FULL OUTER JOIN",
      "LEFT SEMI JOIN",
      "LEFT ANTI JOIN",
      "CROSS JOIN",
      "null-safe join",
      "LATERAL",
      "IN (subquery)",
      "NOT IN (subquery)",
      "EXISTS",
      "NOT EXISTS",
      "scalar subquery",
      "correlated scalar subquery",
      "UNION ALL",
      "UNION",
      "INTERSECT",
      "EXCEPT",
      "CTE used twice",
      "window",
      "LIMIT with a full order",
      "DISTINCT",
      "GROUP BY",
      "ROLLUP",
      "CUBE",
      "GROUPING SETS",
      "HAVING"
    )
    assert(wanted -- queries.flatMap(_.kinds) === Set.empty)
  }

  test("types of every kind are columns, keys and partitions") {
    val tables = (1 to 60).flatMap(star(_).tables)
    def types(columns: Seq[StarColumn]) = columns.map(_.kind.sql.takeWhile(_ != '(')).toSet
    val all = types(tables.flatMap(_.columns))
    Seq(
      "BOOLEAN",
      "TINYINT",
      "SMALLINT",
      "INT",
      "BIGINT",
      "FLOAT",
      "DOUBLE",
      "STRING",
      "CHAR",
      "VARCHAR",
      "STRING COLLATE UTF8_LCASE",
      "STRING COLLATE UTF8_BINARY_RTRIM",
      "DATE",
      "TIMESTAMP",
      "TIMESTAMP_NTZ",
      "BINARY",
      "INTERVAL YEAR TO MONTH",
      "INTERVAL DAY TO SECOND",
      "DECIMAL"
    ).foreach(name => assert(all.contains(name), name))
    assert(types(tables.flatMap(_.partitions)).size >= 12)
    val widths = tables.flatMap(_.columns).map(_.kind.family).collect {
      case Family.Decimal(precision) => precision
    }
    assert(widths.toSet === (1 to 38).toSet)
  }

  test("rows differ by one bit, by their number, by what fails") {
    val zero = Rows(Seq(Outcome.text(0.0)))
    assert(Outcome.difference(zero, zero).isEmpty)
    assert(Outcome.difference(zero, Rows(Seq(Outcome.text(-0.0)))).isDefined)
    assert(Outcome.difference(zero, Rows(zero.rows ++ zero.rows)).isDefined)
    assert(Outcome.text("a") !== Outcome.text("a "))
    val ofValue = Failure(Seq("org.apache.spark.SparkException", "DIVIDE_BY_ZERO"), "")
    val other = Failure(Seq("FAILED_READ_FILE"), "")
    assert(Outcome.difference(ofValue, zero).isEmpty)
    assert(Outcome.difference(zero, ofValue).isDefined)
    assert(Outcome.difference(other, zero).isDefined)
    assert(Outcome.difference(other, ofValue).isDefined)
    assert(Outcome.difference(other, other).isEmpty)
  }
}
