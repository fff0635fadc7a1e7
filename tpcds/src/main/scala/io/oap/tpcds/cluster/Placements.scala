package io.oap.tpcds.cluster

import io.oap.tpcds.result.{Bars, Round}

/** The queries under each way of placement, and by Spark alone, each in an application of its own. */
final class Placements(options: ClusterOptions) extends ClusterMeasurement {

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    say(RoundTable.header)
    val all = options.placements.map(compare(_, measured, say))
    say(RoundTable.ofHeld(all.flatMap(one => one.held.map(one.placement -> _))))
    bars.none("rows that differ from Spark alone", all.flatMap(_.rounds).flatMap(_.differences))
    if (options.command == "residency") {
      val last = all.last
      last.held.foreach(judgeResidency(last.rounds, _, bars))
    }
  }

  private def compare(
      placement: String,
      measured: Measured,
      say: String => Unit): Placements.Outcome =
    Application.use(options, measured.settings: _*) { application =>
      val rounds = (1 to options.rounds).map { number =>
        val round = application.round(number, placement, measured.expected)
        say(RoundTable.line(round))
        round
      }
      if (rounds.last.isSparkAlone) Placements.Outcome(placement, rounds, None)
      else {
        say(RoundTable.fromFiles(rounds.last))
        Placements.Outcome(placement, rounds, Some(application.held()))
      }
    }

  // Whether pools that hold all data only between them come to do so.
  private def judgeResidency(rounds: Seq[Round], held: Held, bars: Bars): Unit = {
    val shares = rounds.drop(1).map(_.share)
    bars.atLeast(
      "% of bytes from the own pool, worst round from the second",
      100 * shares.min,
      Bars.FromOwnPool)
    bars.below("% of cached bytes held twice", 100 * held.heldTwice, Bars.HeldTwice)
    bars.atMost("max over mean of cached bytes", held.maxOverMean, Bars.MaxOverMeanOfHeld)
  }
}

private object Placements {

  /** @param held what the pools hold in the end, where there are any */
  final case class Outcome(placement: String, rounds: Seq[Round], held: Option[Held])
}
