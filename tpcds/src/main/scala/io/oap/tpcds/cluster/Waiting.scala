package io.oap.tpcds.cluster

import io.oap.tpcds.result.{Bars, Comparison, Round, Statistics, TextTable}

/**
 * Whether a query ever waits longer because of its preferred locations than they save: the time of
 * each query with and without placement, also while another job keeps one executor busy.
 *
 * Times of one application differ from those of another, and early ones from late ones, by more
 * than is to be found. So both ways take turns in one application, and each round is compared with
 * the one beside it. What the rounds without placement leave in pools with room for it are copies
 * of everything everywhere: placement can save nothing there, only cost.
 *
 * Of eighteen ratios of equal systems the largest is above any bar as soon as times scatter. So a
 * query is slower by more than the bar allows when the 95 % interval of its ratio lies above, and
 * all of them together have to be below with certainty.
 */
final class Waiting(options: ClusterOptions) extends ClusterMeasurement {
  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    val settings = measured.settings :+ ("spark.locality.wait" -> "3s")
    Application.use(options, settings: _*) { application =>
      def rounds(what: String, numbers: Range): Seq[Round] =
        for (number <- numbers; placement <- Waiting.order(number)) yield {
          val round = application.round(number, placement, measured.expected)
          say(RoundTable.line(round) + s"  $what")
          round
        }
      rounds("warm-up", 1 to Waiting.WarmUps)
      val alone = rounds("", 1 to options.rounds)
      val (fullest, _) = application.held().bytes.maxBy(_._2)
      val busy = application.whileBusy(fullest) {
        rounds(s"executor $fullest busy", 1 to options.rounds)
      }
      bars.none("rows that differ from Spark alone", (alone ++ busy).flatMap(_.differences))
      Waiting.judge("alone", options.queries, alone, say, bars)
      Waiting.judge("one executor busy", options.queries, busy, say, bars)
    }
  }
}

private[cluster] object Waiting {
  private val WarmUps = 2

  /** Which way goes first changes, so that what changes with time hits both. */
  private def order(number: Int): Seq[String] =
    if (number % 2 == 0) Seq("off", "auto") else Seq("auto", "off")

  /** Compares each round with placement to the one of the same number without. */
  def judge(
      what: String,
      queries: Seq[String],
      rounds: Seq[Round],
      say: String => Unit,
      bars: Bars): Unit = {
    def seconds(placement: String, queries: Seq[String]): Seq[Double] =
      rounds.filter(_.system == placement).sortBy(_.number).map(mean(_, queries))
    def compared(queries: Seq[String]) =
      Comparison.paired(seconds("auto", queries), seconds("off", queries))
    val byQuery = queries.map(q => q -> compared(Seq(q)))
    val together = compared(queries)
    say(s"\nplacement auto over off, $what\n" + table(byQuery :+ ("all" -> together)))
    bars.none(
      s"queries slower with placement by more than 5 %, $what",
      byQuery.collect {
        case (q, ratio) if ratio.low > Bars.SlowerWithPlacement => f"$q ${ratio.ratio}%.2f"
      }
    )
    bars.atMost(
      s"all queries with placement over without, upper end, $what",
      together.high,
      Bars.SlowerWithPlacement)
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
    TextTable.align(
      Seq("query", "off, median", "auto, median", "auto over off", "95 % interval") +: lines)
  }

  /** Geometric mean of the times of these queries in a round, where each counts as much. */
  private def mean(round: Round, queries: Seq[String]): Double =
    Statistics.geometricMean(
      round.queries.filter(run => queries.contains(run.query)).map(_.seconds))
}
