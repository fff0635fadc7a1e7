package io.oap.tpcds

import com.fasterxml.jackson.databind.ObjectMapper
import org.scalatest.funsuite.AnyFunSuite

/** The table and the JSON of a run with known times. */
class ReportSuite extends AnyFunSuite {
  private val circumstances =
    Circumstances("2026-01-01T00:00:00Z", Map("scale" -> 1.0), Map(), Map("spark" -> "x"), Map())

  private def run(side: Side, iteration: Int, seconds: Double, file: Long, pool: Long): Run = {
    val scan =
      if (side == Side.SparkAlone) Map.empty[String, Long] else Map("bytesFromPool" -> pool)
    Run("q52", side.name, iteration, seconds, file, Some(3), scan)
  }

  private val runs = Seq(
    run(Side.SparkAlone, 1, 8, 2000000, 0),
    run(Side.SparkAlone, 2, 9, 2000000, 0),
    run(Side.SparkAlone, 3, 80, 2000000, 0),
    run(Side.Cold, 1, 10, 2000000, 0),
    run(Side.Warm, 1, 3, 0, 1999999)
  )

  private def report(differences: String*): Report =
    Report(circumstances, Seq(QueryRuns("q52", runs, 100, differences)))

  test("the table shows medians, speed-ups and where the bytes came from") {
    val lines = report().table.split("\n")
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
  }

  test("a few bytes are not shown as none") {
    val few = runs.map(r => if (r.side == Side.Warm.name) r.copy(fileBytes = 600) else r)
    val table = Report(circumstances, Seq(QueryRuns("q52", few, 100, Nil))).table
    assert(table.split("\n")(1).trim.endsWith("0.001 MB"))
  }

  test("rows that differ make the report say so") {
    assert(report().allRowsEqual)
    assert(!report("oapWarm: 1 rows instead of 2").allRowsEqual)
  }

  test("the JSON holds the circumstances, the medians and every raw time") {
    val json = new ObjectMapper().readTree(report().json)
    assert(json.at("/circumstances/versions/spark").asText == "x")
    assert(json.at("/allRowsEqual").asBoolean)
    assert(json.at("/queries/0/medianSeconds/sparkAlone").asDouble == 9)
    assert(json.at("/queries/0/runs").size == runs.size)
    assert(json.at("/queries/0/runs/2/seconds").asDouble == 80)
    assert(json.at("/queries/0/runs/4/scan/bytesFromPool").asLong == 1999999)
    assert(math.abs(json.at("/geometricMeanSpeedUp/warm").asDouble - 3) < 1e-9)
  }

  test("columns are as wide as their widest cell") {
    assert(Report.align(Seq(Seq("a", "b"), Seq("aa", "bbb"))) == "a     b\naa  bbb")
  }
}
