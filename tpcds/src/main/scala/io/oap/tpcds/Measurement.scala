package io.oap.tpcds

import org.apache.spark.sql.Row

import io.oap.tpcds.result.{MeasuredSystem, QueryRun, Round}

/** How a query is run. The order is that of the report. */
sealed abstract class Side(val name: String, kind: String) {
  def system: MeasuredSystem = MeasuredSystem(name, kind, Map.empty, 1, "", 0, None)
}
object Side {

  /** Spark without the extension. */
  case object SparkAlone extends Side("sparkAlone", "spark")

  /** With the extension, nothing in the cache. */
  case object Cold extends Side("oapCold", "oap")

  /** With the extension, after the cold run and an untimed one, in which vector chunks are made. */
  case object Warm extends Side("oapWarm", "oap")

  val All: Seq[Side] = Seq(SparkAlone, Cold, Warm)
}

/**
 * Runs queries on both systems and compares all their rows with those of Spark alone.
 *
 * Each query is first run once on either system, so that compiled code and file listings are there
 * for all alike: that is round 0. Then the sides take turns. The side that begins changes with the
 * round.
 */
final class Measurement(systems: Systems, rounds: Int, progress: Progress) extends Turns {
  private val reads = new FileReads(systems.sparkAlone.sparkContext)

  /** @return the rounds of all sides, of which each has one run of each query */
  def of(queries: Seq[String]): Seq[Round] =
    new InTurn(this, 0 to rounds, progress).of(queries).map { round =>
      if (round.number > 0 || round.system != Side.Cold.name) round
      else round.copy(queries = round.queries.map(run => run.orNotServed(run.scan.nonEmpty)))
    }

  override def names: Seq[String] = Side.All.map(_.name)

  // Warm follows cold: that is what makes it warm.
  override def order(query: Int, number: Int): Seq[String] = {
    val sides =
      if (number == 0) Seq(Side.SparkAlone, Side.Cold)
      else if (number % 2 == 1) Side.All
      else Seq(Side.Cold, Side.Warm, Side.SparkAlone)
    sides.map(_.name)
  }

  override def run(side: String, query: String): (Seq[Row], QueryRun) =
    if (side == Side.SparkAlone.name) reads.ofRun(systems.sparkAlone, query)
    else {
      if (side == Side.Cold.name) systems.clearCache() else reads.ofRun(systems.oap, query)
      reads.ofRun(systems.oap, query)
    }
}
