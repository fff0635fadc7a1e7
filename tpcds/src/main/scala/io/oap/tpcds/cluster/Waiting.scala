package io.oap.tpcds.cluster

import io.oap.tpcds.{Report, Statistics}

/**
 * Whether a query ever waits longer because of its preferred locations than they save: the time of
 * each query with and without placement, also while another job keeps one executor busy.
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
      def of(placement: String): Map[String, Double] =
        Waiting.medians(all.filter(_.placement == placement).flatMap(rounds))
      val (off, auto) = (of("off"), of("auto"))
      say(s"\nmedian times, $what\n" + table(off, auto))
      bars.atMost(
        s"slowest query with placement over without, $what",
        options.queries.map(q => auto(q) / off(q)).max,
        1.05)
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

  private def table(off: Map[String, Double], auto: Map[String, Double]): String = {
    val lines = options.queries.map { q =>
      Seq(q, f"${off(q)}%.2f s", f"${auto(q)}%.2f s", f"${auto(q) / off(q)}%.3f")
    }
    Report.align(Seq("query", "off", "auto", "auto over off") +: lines)
  }
}

private[cluster] object Waiting {
  private val WarmUps = 2

  final case class Times(placement: String, idle: Seq[Round], busy: Seq[Round])

  /** Of each query over the rounds, in seconds. */
  def medians(rounds: Seq[Round]): Map[String, Double] =
    rounds.flatMap(_.runs).groupBy(_.query).map { case (query, runs) =>
      query -> Statistics.median(runs.map(_.seconds))
    }
}
