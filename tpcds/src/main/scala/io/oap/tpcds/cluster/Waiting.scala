package io.oap.tpcds.cluster

import io.oap.tpcds.{Report, Statistics}
import io.oap.tpcds.scale.Comparison

/**
 * Whether a query ever waits longer because of its preferred locations than they save: the time of
 * each query with and without placement, also while another job keeps one executor busy.
 *
 * Of eighteen ratios of equal systems the largest is above any bar as soon as times scatter. So a
 * query is slower by more than the bar allows when the 95 % interval of its ratio lies above, and
 * all of them together have to be below with certainty.
 */
final class Waiting(options: ClusterOptions) extends ClusterMeasurement {
  import Waiting.Times

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    // Both ways before and after each other, so that what changes with time hits both.
    val all = Seq("off", "auto", "auto", "off").map(times(_, measured, say))
    bars.none(
      "rows that differ from Spark alone",
      all.flatMap(t => t.idle ++ t.busy).flatMap(_.differences))
    for ((what, rounds) <- Seq[(String, Times => Seq[Round])](
        "alone" -> (_.idle),
        "one executor busy" -> (_.busy))) {
      def of(placement: String): Seq[Round] =
        all.filter(_.placement == placement).flatMap(rounds)
      Waiting.judge(what, options.queries, of("off"), of("auto"), say, bars)
    }
  }

  private def times(placement: String, measured: Measured, say: String => Unit): Times =
    Application.use(options, measured.poolSetting, "spark.locality.wait" -> "3s") { application =>
      def rounds(what: String, numbers: Range): Seq[Round] = numbers.map { number =>
        val round = application.round(number, placement, measured.expected)
        say(RoundTable.line(round) + s"  $what")
        round
      }
      rounds("warm-up", 1 to Waiting.WarmUps)
      val idle = rounds("", 1 to options.rounds)
      val (fullest, _) = application.held().bytes.maxBy(_._2)
      val busy = application.whileBusy(fullest) {
        rounds(s"executor $fullest busy", 1 to options.rounds)
      }
      Times(placement, idle, busy)
    }
}

private[cluster] object Waiting {
  private val WarmUps = 2

  /** How much slower a query may be. */
  private val Bar = 1.05

  final case class Times(placement: String, idle: Seq[Round], busy: Seq[Round])

  /** Compares rounds with placement to those without. */
  def judge(
      what: String,
      queries: Seq[String],
      off: Seq[Round],
      auto: Seq[Round],
      say: String => Unit,
      bars: Bars): Unit = {
    val byQuery = queries.map(q => q -> Comparison.of(seconds(auto, q), seconds(off, q)))
    val together = Comparison.of(auto.map(mean), off.map(mean))
    say(s"\nplacement auto over off, $what\n" + table(byQuery :+ ("all" -> together)))
    bars.none(
      s"queries slower with placement by more than 5 %, $what",
      byQuery.collect { case (q, ratio) if ratio.low > Bar => f"$q ${ratio.ratio}%.2f" })
    bars.atMost(s"all queries with placement over without, upper end, $what", together.high, Bar)
  }

  private def table(comparisons: Seq[(String, Comparison)]): String = {
    val lines = comparisons.map { case (query, ratio) =>
      Seq(
        query,
        f"${ratio.otherMedian}%.2f s",
        f"${ratio.baseMedian}%.2f s",
        f"${ratio.ratio}%.3f",
        f"${ratio.low}%.3f to ${ratio.high}%.3f")
    }
    Report.align(
      Seq("query", "off, median", "auto, median", "auto over off", "95 % interval") +: lines)
  }

  private def seconds(rounds: Seq[Round], query: String): Seq[Double] =
    rounds.flatMap(_.runs.filter(_.query == query)).map(_.seconds)

  /** Geometric mean of the times of a round's queries, in which each of them counts as much. */
  private def mean(round: Round): Double =
    Statistics.geometricMean(round.runs.map(_.seconds))
}
