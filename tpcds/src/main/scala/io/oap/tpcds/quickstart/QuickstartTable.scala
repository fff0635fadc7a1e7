package io.oap.tpcds.quickstart

import io.oap.tpcds.Side
import io.oap.tpcds.result.{QueryRun, Result, Statistics, TextTable}

/** What dev/quickstart measured, as a table for people. */
final class QuickstartTable(result: Result) {
  import QuickstartTable._

  /** How many times as fast as Spark alone: the geometric mean of all queries. */
  def speedUp(side: Side): Double =
    Statistics.geometricMean(result.plan.queries.map(speedUp(side, _)))

  /** One line for each query, then the geometric means of the speed-ups. */
  def text: String = {
    val means = Seq(times(speedUp(Side.Cold)), times(speedUp(Side.Warm)))
    val last = ("geometric mean" +: Seq.fill(3)("")) ++ means ++ Seq.fill(4)("")
    TextTable.align(Header +: result.plan.queries.map(line) :+ last)
  }

  private def runs(side: Side, query: String): Seq[QueryRun] =
    result.rounds.filter(r => r.system == side.name && r.counts)
      .flatMap(_.queries.filter(_.query == query))

  private def seconds(side: Side, query: String): Double =
    Statistics.median(runs(side, query).map(_.seconds))

  private def speedUp(side: Side, query: String): Double =
    seconds(Side.SparkAlone, query) / seconds(side, query)

  private def line(query: String): Seq[String] = {
    def fromFile(side: Side) =
      megabytes(runs(side, query).flatMap(_.fileBytes).map(_.toDouble))
    val fromPool = runs(Side.Warm, query).map(_.fromPool.toDouble)
    Seq(query) ++ Side.All.map(side => f"${seconds(side, query)}%.2f s") ++
      Seq(Side.Cold, Side.Warm).map(side => times(speedUp(side, query))) ++
      Seq(megabytes(fromPool)) ++ Side.All.map(fromFile)
  }
}

object QuickstartTable {
  private val Header = Seq(
    "query",
    "Spark alone",
    "cold",
    "warm",
    "cold is",
    "warm is",
    "pool, warm",
    "file, alone",
    "file, cold",
    "file, warm")

  private def times(factor: Double): String = f"$factor%.2f x"

  // Tells 0 bytes from a few, because 0 is what a warm run is judged by.
  private def megabytes(bytes: Seq[Double]): String = Statistics.median(bytes) match {
    case 0.0 => "0"
    case some => f"${some / 1e6}%.3f MB"
  }
}
