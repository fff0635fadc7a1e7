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
    val queries = Seq.fill(2)((0 until 50).map(Query.of(_, star(7).tables)))
    assert(queries.head.map(_.sql) === queries.last.map(_.sql))
    assert(queries.head.map(_.settings) === queries.last.map(_.settings))
    assert(queries.head.map(_.sql).distinct.size > 40)
  }

  test("every query is SQL, and every kind of it is written") {
    val queries = for (seed <- 1 to 20; number <- 0 until 60) yield {
      Query.of(seed * 1000 + number, star(seed).tables)
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

  test("queries of strings with a collation generate code, and others at times do not") {
    val made = for (seed <- 1 to 20; number <- 0 until 20) yield {
      val tables = star(seed).tables
      val query = Query.of(seed * 1000 + number, tables)
      val collated = tables.flatMap(_.all).filter(_.kind.isCollated).map(_.name)
      collated.exists(query.sql.contains(_)) -> query.settings.toMap
        .apply("spark.sql.codegen.factoryMode")
    }
    assert(made.toSet === Set(true -> "FALLBACK", false -> "FALLBACK", false -> "NO_CODEGEN"))
  }

  test("commits are SQL of the columns that there are, and every kind of them is made") {
    val kinds = for (form <- Seq(Form.Iceberg, Form.Delta); seed <- 1L to 8L) yield {
      val commits = new Commits(new Star(seed, "/stars", form))
      val made = Seq.fill(60) {
        val commit = commits.next()
        commit.statements.filterNot(isOfTheLibrary).foreach(statement =>
          withClue(statement)(CatalystSqlParser.parsePlan(statement)))
        commits.tables.foreach(table =>
          assert(table.all.map(_.name).distinct === table.all.map(_.name)))
        commit
      }
      val again = new Commits(new Star(seed, "/stars", form))
      assert(Seq.fill(60)(again.next()) === made)
      made.map(_.kind)
    }
    val wanted = Set("DELETE", "UPDATE", "MERGE", "INSERT", "compaction") ++
      Set("ADD", "RENAME", "DROP").map(_ + " COLUMN") + "ALTER COLUMN TYPE" + "ADD PARTITION FIELD"
    assert(kinds.flatten.toSet === wanted)
  }

  // Spark's own parser knows none of them.
  private def isOfTheLibrary(statement: String) =
    Seq("OPTIMIZE", "REORG", "ADD PARTITION FIELD").exists(statement.contains)

  test("a query of former versions names them for each table and nothing else") {
    val query =
      Query("SELECT fact_a.x FROM fact_a AS t1 JOIN (dim_x AS t2) ON 'fact_b' = t2.y", Set(), Nil)
    assert(query.at(Map("fact_a" -> "7", "dim_x" -> "9")).sql ===
      "SELECT fact_a.x FROM fact_a VERSION AS OF 7 AS t1 JOIN (dim_x VERSION AS OF 9 AS t2) ON 'fact_b' = t2.y")
    for (number <- 0 until 40) {
      val star = this.star(3)
      val versions = star.tables.map(_.name -> "5").toMap
      val sql = Query.of(number.toLong, star.tables, Form.Iceberg).at(versions).sql
      withClue(sql)(CatalystSqlParser.parsePlan(sql))
    }
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
