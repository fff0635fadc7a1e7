package io.oap.tpcds.cluster

/** The queries under each way of placement, each way in an application of its own. */
final class Placements(options: ClusterOptions) extends ClusterMeasurement {

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    say(RoundTable.header)
    val all = options.placements.map(compare(_, measured, say))
    say(RoundTable.ofHeld(all.map(one => one.placement -> one.held)))
    bars.none("rows that differ from Spark alone", all.flatMap(_.rounds).flatMap(_.differences))
    if (options.command == "residency") judgeResidency(all.last, bars)
  }

  private def compare(
      placement: String,
      measured: Measured,
      say: String => Unit): Placements.Outcome =
    Application.use(options, measured.poolSetting) { application =>
      val rounds = (1 to options.rounds).map { number =>
        val round = application.round(number, placement, measured.expected)
        say(RoundTable.line(round))
        round
      }
      say(RoundTable.fromFiles(rounds.last))
      Placements.Outcome(placement, rounds, application.held())
    }

  // Whether pools that hold all data only between them come to do so.
  private def judgeResidency(outcome: Placements.Outcome, bars: Bars): Unit = {
    val shares = outcome.rounds.drop(1).map(_.share)
    bars.atLeast("% of bytes from the own pool, worst round from the second", 100 * shares.min, 98)
    bars.below("% of cached bytes held twice", 100 * outcome.held.heldTwice, 3)
    bars.atMost("max over mean of cached bytes", outcome.held.maxOverMean, 1.2)
  }
}

private object Placements {
  final case class Outcome(placement: String, rounds: Seq[Round], held: Held)
}
