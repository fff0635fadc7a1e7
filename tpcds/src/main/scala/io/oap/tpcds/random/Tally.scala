package io.oap.tpcds.random

import java.lang.management.ManagementFactory

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import com.sun.management.OperatingSystemMXBean

import io.oap.tpcds.result.TextTable

/**
 * Counts what was run and what it came to. For several threads.
 *
 * @param say is told each failure when it is found
 */
final class Tally(say: String => Unit = _ => ()) {
  private var queries = 0L
  private var runs = 0L
  private var inError = 0L
  private var empty = 0L
  private var withoutScan = 0L
  private var spared = 0L
  private var served = 0L
  private var pools = Option.empty[String]
  private var vectorChunks = 0L
  private val byRun = mutable.Map.empty[String, Map[String, Long]]
  private val byKind = mutable.Map.empty[String, Tally.OfKind]
  private val commits = mutable.Map.empty[String, Long]
  private val judged = mutable.Map.empty[String, Long]
  private val errors = mutable.Map.empty[String, Long]
  private val examples = mutable.Map.empty[String, String]
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
        examples.getOrElseUpdate(what, s"such as: ${query.sql}\n${failure.message}")
        errors(what) = errors.getOrElse(what, 0L) + 1
    }
    query.kinds.foreach(kind => of(kind).queries += 1)
  }

  /** A run with the cache, which was not found wrong. */
  def run(query: Query, expected: Outcome, ran: Ran, name: String): Unit = synchronized {
    runs += 1
    val before = byRun.getOrElse(name, Map.empty)
    byRun(name) = Tally.Metrics.map { metric =>
      metric -> (before.getOrElse(metric, 0L) + ran.scan.getOrElse(metric, 0L))
    }.toMap
    if (expected.isInstanceOf[Outcome.Failure] && ran.outcome.isInstanceOf[Outcome.Rows]) {
      spared += 1
    }
    if (ran.isServed) {
      served += 1
      query.kinds.foreach(kind => of(kind).cached += 1)
    }
    if (ran.hasNoScan) withoutScan += 1
    if (ran.uncached > 0) query.kinds.foreach(kind => of(kind).uncached += 1)
  }

  private def of(kind: String): Tally.OfKind = byKind.getOrElseUpdate(kind, new Tally.OfKind)

  /** A change of a table. */
  def commit(kind: String): Unit = synchronized(commits(kind) = commits.getOrElse(kind, 0L) + 1)

  /** A difference that was Spark alone's fault: with this setting it gives what the cache gave. */
  def judge(setting: String): Unit = synchronized {
    judged(setting) = judged.getOrElse(setting, 0L) + 1
  }

  /** What the pool held before it was made small, and what left it since it was opened. */
  def pool(vectorChunks: Long, evictions: Long): Unit = synchronized {
    this.vectorChunks += vectorChunks
    pools = Some(
      s"${this.vectorChunks} vector chunks at the end of stars, $evictions chunks evicted")
  }

  def fail(failed: Failed): Unit = synchronized {
    found += failed
    say(failed.toString)
  }

  def failures: Int = synchronized(found.size)

  def queriesDone: Long = synchronized(queries)

  def progress(seconds: Long): String = synchronized {
    f"$seconds%5d s  $counts  ${runs.toDouble / math.max(1, seconds)}%5.1f/s"
  }

  /** What is done and what came of it, and the time of processors that it took. */
  def counts: String = synchronized {
    val cpu = Tally.cpuSeconds
    f"$queries%7d queries  $runs%8d runs  $cpu%.0f CPU s  ${runs / cpu}%.2f/CPU s  " +
      s"$inError errors alone  ${found.size} failures"
  }

  /** What was run, by kind: one that never goes through the cache must be seen; then the failures. */
  def report: String = synchronized {
    def counted(of: mutable.Map[String, Long], what: String): Seq[String] =
      of.toSeq.sortBy(-_._2).map { case (name, count) => s"$count $what: $name" }
    val lines = Seq(
      table,
      runTable,
      s"$queries queries, $runs runs, of which $served through the cache",
      s"$withoutScan runs ended with a plan without any scan, which had given no row, or failed",
      s"$empty queries give no row; $inError fail alone; $spared runs with the cache gave rows " +
        "where a value's error was alone"
    )
    (lines ++ pools ++ counted(commits, "commits") ++ counted(
      errors,
      "fail alone") ++ examples.values ++
      counted(judged, "differences in which Spark alone was wrong but for") ++
      found.map(_.toString)).mkString("\n")
  }

  private def table: String = {
    val lines = byKind.toSeq.sortBy(-_._2.queries).map { case (kind, counts) =>
      Seq(kind, counts.queries.toString, counts.cached.toString, counts.uncached.toString)
    }
    TextTable.align(
      Seq("kind of SQL", "queries", "runs through the cache", "runs also around it") +: lines)
  }

  private def runTable: String = {
    val lines = byRun.toSeq.sortBy(_._1).map { case (name, sums) =>
      name +: Tally.Metrics.map(metric => sums(metric).toString)
    }
    TextTable.align(("run" +: Tally.Metrics) +: lines)
  }

  /** Why not all was right, in a line each. */
  def wrong: Seq[String] = synchronized {
    val neverServed = byKind.collect {
      case (kind, counts) if counts.queries >= Tally.Often && counts.cached == 0 => kind
    }.toSeq.sorted
    val hits = byRun.values.map(_("chunksHit")).sum
    Seq(
      found.nonEmpty -> s"${found.size} runs were wrong",
      (queries >= Tally.Often && hits == 0) -> "no chunk came from the pool",
      neverServed.nonEmpty -> s"never through the cache: ${neverServed.mkString(", ")}"
    ).collect { case (true, what) => what }
  }

}

private object Tally {
  private val Often = 20

  /** Of this process and all of its threads. */
  private def cpuSeconds: Double = processor.getProcessCpuTime / 1e9

  private val processor = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])

  private val Metrics =
    Seq("chunksHit", "chunksMissed", "chunksBypassed", "rowGroupsPruned", "tasksElsewhere")

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
