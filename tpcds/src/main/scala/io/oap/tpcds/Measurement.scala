package io.oap.tpcds

import java.time.Instant

import org.apache.spark.sql.{Row, SparkSession}

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
 * for all alike: that is round 0. Then the sides take turns, query by query and round by round, so
 * that whatever the machine does besides hits all of them. The side that begins changes with the
 * round.
 */
final class Measurement(systems: Systems, rounds: Int, progress: Progress) {
  private val reads = new FileReads(systems.sparkAlone.sparkContext)

  /** @return the rounds of all sides, of which each has one run of each query */
  def of(queries: Seq[String]): Seq[Round] = {
    val process = Instant.now().toString
    val total = queries.length.toLong * (2 + 3 * rounds)
    val runs = queries.zipWithIndex.flatMap { case (query, before) =>
      runsOf(query, before * total / queries.length, total)
    }
    for {
      number <- 0 to rounds
      side <- Side.All
      of = runs.collect { case (`side`, `number`, run) => run } if of.nonEmpty
    } yield Round.inARow(side.name, number, of).copy(
      process = process,
      time = process,
      fileBytes = of.flatMap(_.fileBytes).sum)
  }

  private def runsOf(query: String, before: Long, total: Long): Seq[(Side, Int, QueryRun)] = {
    var done = before
    def step[T](what: String)(body: => T): T = {
      progress.show(s"$query $what", done, total, "runs")
      val result = body
      done += 1
      result
    }
    val (expected, alone) = step("warm-up, Spark alone")(collect(systems.sparkAlone, query))
    def checked(ran: (Seq[Row], QueryRun)): QueryRun =
      ran._2.copy(difference = RowComparison.difference(expected, ran._1).getOrElse(""))
    val warmUp = step("warm-up, OAP")(checked(run(Side.Cold, query)))
    val cold = warmUp.orNotServed(warmUp.scan.nonEmpty)
    val timed = for {
      number <- 1 to rounds
      side <- order(number)
    } yield step(s"${side.name} $number/$rounds") {
      (side, number, checked(run(side, query)))
    }
    Seq((Side.SparkAlone, 0, alone), (Side.Cold, 0, cold)) ++ timed
  }

  // Warm follows cold: that is what makes it warm.
  private def order(number: Int): Seq[Side] =
    if (number % 2 == 1) Side.All else Seq(Side.Cold, Side.Warm, Side.SparkAlone)

  private def run(side: Side, query: String): (Seq[Row], QueryRun) = side match {
    case Side.SparkAlone => collect(systems.sparkAlone, query)
    case Side.Cold =>
      systems.clearCache()
      collect(systems.oap, query)
    case Side.Warm =>
      collect(systems.oap, query)
      collect(systems.oap, query)
  }

  private def collect(session: SparkSession, query: String): (Seq[Row], QueryRun) = {
    val counted = reads.during(QueryRun.of(session, query))
    val (rows, run) = counted.result
    (rows, run.copy(fileBytes = Some(counted.bytes), requests = counted.requests))
  }
}
