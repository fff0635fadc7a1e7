package io.oap.tpcds.quickstart

import org.scalatest.funsuite.AnyFunSuite

import io.oap.tpcds.{Circumstances, Side}
import io.oap.tpcds.result.{MadePlans, QueryRun, Result, Round}

/** The table of dev/quickstart, of a run with known times. */
class QuickstartTableSuite extends AnyFunSuite {
  private def round(side: Side, number: Int, seconds: Double, file: Long, pool: Long): Round = {
    val scan =
      if (side == Side.SparkAlone) Map.empty[String, Long] else Map("bytesFromPool" -> pool)
    val run = QueryRun("q52", seconds, scan, 100, fileBytes = Some(file), requests = Some(3))
    Round.inARow(side.name, number, Seq(run))
  }

  private def rounds(warmFile: Long) = Seq(
    round(Side.SparkAlone, 0, 1000, 1, 0),
    round(Side.Cold, 0, 1000, 1, 0),
    round(Side.SparkAlone, 1, 8, 2000000, 0),
    round(Side.SparkAlone, 2, 9, 2000000, 0),
    round(Side.SparkAlone, 3, 80, 2000000, 0),
    round(Side.Cold, 1, 10, 2000000, 0),
    round(Side.Warm, 1, 3, warmFile, 1999999)
  )

  private def table(warmFile: Long): QuickstartTable = {
    val systems = Side.All.map(_.system)
    val facts = Circumstances("", Map.empty, Map.empty, Map.empty, Map.empty)
    val plan = MadePlans.plan(systems).copy(queries = Seq("q52"))
    new QuickstartTable(Result(plan, Nil, facts, 0, systems, rounds(warmFile), Nil, Nil))
  }

  test("the table shows medians, speed-ups and where the bytes came from") {
    val lines = table(0).text.split("\n")
    assert(lines.length == 3)
    val cells = lines(1).trim.split(" {2,}").toSeq
    assert(
      cells == Seq(
        "q52",
        "9.00 s",
        "10.00 s",
        "3.00 s",
        "0.90 x",
        "3.00 x",
        "2.000 MB",
        "2.000 MB",
        "2.000 MB",
        "0"))
    assert(lines(2).trim.split(" {2,}").toSeq == Seq("geometric mean", "0.90 x", "3.00 x"))
    assert(math.abs(table(0).speedUp(Side.Warm) - 3) < 1e-9)
  }

  test("a few bytes are not shown as none") {
    assert(table(600).text.split("\n")(1).trim.endsWith("0.001 MB"))
  }
}
