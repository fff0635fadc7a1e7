package io.oap.tpcds.cluster

import io.oap.tpcds.result.{Round, TextTable}

/** Rounds, and what pools hold, as lines for people. */
object RoundTable {

  def header: String =
    columns("placement", "round", "time", "from pools", "from files", "own pool", "elsewhere")

  /** One round; said as soon as it has ended. */
  def line(round: Round): String = {
    val bytes =
      if (round.isSparkAlone) Seq.fill(4)("-")
      else
        Seq(
          megabytes(round.fromPool),
          megabytes(round.fromFile),
          percent(round.share),
          round.tasksElsewhere.toString)
    columns(round.system, round.number.toString +: f"${round.seconds}%.2f s" +: bytes: _*)
  }

  /** What each query of a round still read from files, the most first. */
  def fromFiles(round: Round): String = {
    val queries = round.queries.sortBy(-_.fromFile).map { run =>
      s"${run.query} ${megabytes(run.fromFile)}"
    }
    s"from files in round ${round.number}, ${round.system}: ${queries.mkString(", ")}"
  }

  /** What the pools hold at the end, by way of placement. */
  def ofHeld(all: Seq[(String, Held)]): String = {
    val header = Seq("placement", "executor", "cached", "max over mean", "held twice")
    val lines = all.flatMap { case (placement, held) =>
      val executors = held.bytes.toSeq.sorted.map { case (id, bytes) =>
        Seq(placement, s"$id on ${held.executors(id).host}", megabytes(bytes), "", "")
      }
      val total = megabytes(held.totalBytes)
      val sum = Seq(placement, "all", total, f"${held.maxOverMean}%.3f", percent(held.heldTwice))
      executors :+ sum
    }
    val copies = all.collect {
      case (placement, held) if held.copiesByTable.nonEmpty =>
        val tables = held.copiesByTable.toSeq.sortBy(-_._2).map { case (table, bytes) =>
          s"$table ${megabytes(bytes)}"
        }
        s"held twice, $placement: ${tables.mkString(", ")}"
    }
    (TextTable.align(header +: lines) +: copies).mkString("\n")
  }

  def megabytes(bytes: Long): String = f"${bytes / 1e6}%.1f MB"

  def percent(share: Double): String = f"${share * 100}%.2f %%"

  private def columns(first: String, others: String*): String =
    first.padTo(10, ' ') + others.map(cell => f"$cell%12s").mkString
}
