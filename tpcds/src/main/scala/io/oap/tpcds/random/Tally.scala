package io.oap.tpcds.random

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.oap.tpcds.Report

/** Counts what was run and what it came to. For several threads. */
final class Tally {
  private var queries = 0L
  private var runs = 0L
  private var inError = 0L
  private var empty = 0L
  private var withoutScan = 0L
  private var spared = 0L
  private var served = 0L
  private var hits = 0L
  private val byKind = mutable.Map.empty[String, Tally.OfKind]
  private val judged = mutable.Map.empty[String, Long]
  private val errors = mutable.Map.empty[String, Long]
  private val found = ArrayBuffer.empty[Failed]

  /** A query that has been run alone. */
  def query(query: Query, alone: Outcome): Unit = synchronized {
    queries += 1
    runs += 1
    alone match {
      case Outcome.Rows(rows) => if (rows.isEmpty) empty += 1
      case failure: Outcome.Failure =>
        inError += 1
        val what = failure.conditions.mkString(" <- ")
        errors(what) = errors.getOrElse(what, 0L) + 1
    }
    query.kinds.foreach(kind => of(kind).queries += 1)
  }

  /** A run with the cache, which was not found wrong. */
  def run(query: Query, expected: Outcome, ran: Ran): Unit = synchronized {
    runs += 1
    if (expected.isInstanceOf[Outcome.Failure] && ran.outcome.isInstanceOf[Outcome.Rows]) {
      spared += 1
    }
    hits += ran.scan.getOrElse("chunksHit", 0L)
    if (ran.isServed) {
      served += 1
      query.kinds.foreach(kind => of(kind).cached += 1)
    }
    if (ran.hasNoScan) withoutScan += 1
    if (ran.uncached > 0) query.kinds.foreach(kind => of(kind).uncached += 1)
  }

  private def of(kind: String): Tally.OfKind = byKind.getOrElseUpdate(kind, new Tally.OfKind)

  /** A difference that was Spark alone's fault: with this setting it gives what the cache gave. */
  def judge(setting: String): Unit = synchronized {
    judged(setting) = judged.getOrElse(setting, 0L) + 1
  }

  def fail(failed: Failed): Unit = synchronized(found += failed)

  def failures: Int = synchronized(found.size)

  def queriesDone: Long = synchronized(queries)

  def progress(seconds: Long): String = synchronized {
    f"$seconds%5d s  $queries%7d queries  $runs%8d runs  ${runs.toDouble / math.max(1, seconds)}%5.1f/s  " +
      s"$inError errors alone  ${found.size} failures"
  }

  /** What was run, by kind: one that never goes through the cache must be seen; then the failures. */
  def report: String = synchronized {
    def counted(of: mutable.Map[String, Long], what: String): Seq[String] =
      of.toSeq.sortBy(-_._2).map { case (name, count) => s"$count $what: $name" }
    val lines = Seq(
      table,
      s"$queries queries, $runs runs, of which $served through the cache; $hits chunks hit",
      s"$withoutScan runs ended with a plan without any scan, which had given no row, or failed",
      s"$empty queries give no row; $inError fail alone; $spared runs with the cache gave rows " +
        "where a value's error was alone"
    )
    (lines ++ counted(errors, "fail alone") ++
      counted(judged, "differences in which Spark alone was wrong but for") ++
      found.map(_.toString)).mkString("\n")
  }

  private def table: String = {
    val lines = byKind.toSeq.sortBy(-_._2.queries).map { case (kind, counts) =>
      Seq(kind, counts.queries.toString, counts.cached.toString, counts.uncached.toString)
    }
    Report.align(
      Seq("kind of SQL", "queries", "runs through the cache", "runs also around it") +: lines)
  }

  /** Why not all was right, in a line each. */
  def wrong: Seq[String] = synchronized {
    val neverServed = byKind.collect {
      case (kind, counts) if counts.queries >= Tally.Often && counts.cached == 0 => kind
    }.toSeq.sorted
    Seq(
      found.nonEmpty -> s"${found.size} runs were wrong",
      (hits == 0) -> "no chunk came from the pool",
      neverServed.nonEmpty -> s"never through the cache: ${neverServed.mkString(", ")}"
    ).collect { case (true, what) => what }
  }

}

private object Tally {
  private val Often = 20

  /** Queries of one kind, and runs of them: through the cache, and such as have a scan around it. */
  private final class OfKind {
    var queries = 0L
    var cached = 0L
    var uncached = 0L
  }
}

/**
 * A query that was not right.
 *
 * @param star its seed
 * @param run which run: cold, promoted, warm or tiny
 */
final case class Failed(star: Long, run: String, query: String, difference: String) {
  override def toString: String =
    s"\nFAILED ($run), star $star: --seed $star\n$query\n$difference"
}
