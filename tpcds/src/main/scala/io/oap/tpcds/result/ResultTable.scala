package io.oap.tpcds.result

/** A result as text for people. */
object ResultTable {

  /** The systems' rounds, what the statistics say of them, and the fairness among tenants. */
  def of(result: Result): String = {
    val counting = result.systems.map(system => (system, result.of(system).filter(_.counts)))
    val header = Seq(
      "system",
      "rounds",
      "median",
      "fastest",
      "slowest",
      "from pool",
      "from files",
      "held",
      "slowest tenant",
      "Jain's index")
    val lines =
      counting.collect { case (system, rounds) if rounds.nonEmpty => line(system, rounds) }
    val verdicts = result.comparisons.filter(_.what == "round").map { c =>
      s"${c.other} against ${c.base}: ${c.times.verdict}"
    }
    (TextTable.align(header +: lines) +: verdicts).mkString("\n")
  }

  private def line(system: MeasuredSystem, rounds: Seq[Round]): Seq[String] = {
    val seconds = rounds.map(_.seconds)
    def median(values: Seq[Double]): Double = Statistics.median(values)
    Seq(
      system.name,
      rounds.size.toString,
      f"${median(seconds)}%.2f s",
      f"${seconds.min}%.2f s",
      f"${seconds.max}%.2f s",
      f"${median(rounds.map(_.fromPool.toDouble)) / 1e6}%.1f MB",
      f"${median(rounds.map(_.fileBytes.toDouble)) / 1e6}%.1f MB",
      f"${median(rounds.map(_.heldBytes.toDouble)) / 1e6}%.1f MB",
      f"${median(rounds.map(_.slowestOverMean))}%.2f of mean",
      f"${median(rounds.map(_.jain))}%.3f"
    )
  }

  /** Queries that failed or gave other rows, one line each. */
  def wrong(result: Result): Seq[String] = for {
    round <- result.rounds
    query <- round.queries ++ round.sweeps
    said <- Seq(query.error, query.difference).find(_.nonEmpty)
    kind = if (query.error.nonEmpty) "FAILED" else "OTHER ROWS"
  } yield s"${round.system} ${query.query}, repeat ${round.repeat} round ${round.number}: $kind, $said"
}
