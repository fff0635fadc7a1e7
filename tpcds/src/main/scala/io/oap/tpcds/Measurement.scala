package io.oap.tpcds

import java.util.concurrent.TimeUnit

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.{Row, SparkSession}

/** How a query is run. The order is that of the report. */
sealed abstract class Side(val name: String)
object Side {

  /** Spark without the extension. */
  case object SparkAlone extends Side("sparkAlone")

  /** With the extension, nothing in the cache. */
  case object Cold extends Side("oapCold")

  /** With the extension, after the cold run and an untimed one, in which vector chunks are made. */
  case object Warm extends Side("oapWarm")

  val All: Seq[Side] = Seq(SparkAlone, Cold, Warm)
}

/**
 * One timed run of one query.
 *
 * @param seconds from the SQL text to the collected rows
 * @param fileBytes bytes read from data files, as the file system counted them
 * @param requests requests to the file system; none on a cluster, where it cannot be asked
 * @param scan the scans' own metrics, see [[ScanMetrics]]; empty for Spark alone
 */
final case class Run(
    query: String,
    side: String,
    iteration: Int,
    seconds: Double,
    fileBytes: Long,
    requests: Option[Long],
    scan: Map[String, Long])

/** All runs of one query, and what was wrong with their rows: empty when nothing was. */
final case class QueryRuns(query: String, runs: Seq[Run], rows: Int, differences: Seq[String]) {
  def of(side: Side): Seq[Run] = runs.filter(_.side == side.name)

  def medianSeconds(side: Side): Double = Statistics.median(of(side).map(_.seconds))

  /** How many times as fast as Spark alone. */
  def speedUp(side: Side): Double = medianSeconds(Side.SparkAlone) / medianSeconds(side)
}

/**
 * Runs queries on both systems and compares all their rows with those of Spark alone.
 *
 * Each query is first run once on either system, untimed, so that compiled code and file listings
 * are there for all alike. Then the sides take turns, query by query and iteration by
 * iteration, so that whatever the machine does besides hits all of them. The side that begins
 * changes with the iteration.
 */
final class Measurement(systems: Systems, iterations: Int, progress: Progress) {
  import Measurement.Outcome

  private val reads = new FileReads(systems.sparkAlone.sparkContext)

  def of(queries: Seq[String]): Seq[QueryRuns] = {
    val total = queries.length.toLong * (2 + 3 * iterations)
    var done = 0L
    def step[T](query: String, what: String)(body: => T): T = {
      progress.show(s"$query $what", done, total, "runs")
      val result = body
      done += 1
      result
    }
    queries.map { query =>
      val expected = step(query, "warm-up, Spark alone")(collect(systems.sparkAlone, query).rows)
      val differences = ArrayBuffer.empty[String]
      def check(side: String, outcome: Outcome): Run = {
        RowComparison.difference(expected, outcome.rows).foreach(d => differences += s"$side: $d")
        outcome.run
      }
      step(query, "warm-up, OAP") {
        systems.clearCache()
        val outcome = collect(systems.oap, query)
        check("warm-up", outcome)
        if (outcome.run.scan.isEmpty) differences += "the extension served none of the scans"
      }
      val runs = for {
        iteration <- 1 to iterations
        side <- order(iteration)
      } yield step(query, s"${side.name} $iteration/$iterations") {
        check(side.name, run(side, query)).copy(side = side.name, iteration = iteration)
      }
      QueryRuns(query, runs, expected.length, differences.toSeq)
    }
  }

  // Warm follows cold: that is what makes it warm.
  private def order(iteration: Int): Seq[Side] =
    if (iteration % 2 == 1) Side.All else Seq(Side.Cold, Side.Warm, Side.SparkAlone)

  private def run(side: Side, query: String): Outcome = side match {
    case Side.SparkAlone => collect(systems.sparkAlone, query)
    case Side.Cold =>
      systems.clearCache()
      collect(systems.oap, query)
    case Side.Warm =>
      collect(systems.oap, query)
      collect(systems.oap, query)
  }

  private def collect(session: SparkSession, query: String): Outcome = {
    val text = Queries.text(query)
    val counted = reads.during {
      val start = System.nanoTime()
      val frame = session.sql(text)
      val rows = frame.collect()
      (frame.queryExecution.executedPlan, rows.toSeq, System.nanoTime() - start)
    }
    val (plan, rows, nanos) = counted.result
    val seconds = nanos.toDouble / TimeUnit.SECONDS.toNanos(1)
    val run = Run(query, "", 0, seconds, counted.bytes, counted.requests, ScanMetrics.of(plan))
    Outcome(rows, run)
  }
}

private object Measurement {
  final case class Outcome(rows: Seq[Row], run: Run)
}
