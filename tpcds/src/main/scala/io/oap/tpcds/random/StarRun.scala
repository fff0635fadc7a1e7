package io.oap.tpcds.random

import java.nio.file.{Files, Path}

import io.oap.tpcds.DataFolder

/**
 * A star and its queries: made, run, judged and thrown away.
 *
 * @param failures folder for what reproduces failures
 * @param overrides settings that go before those of the queries
 */
final class StarRun(
    val star: Star,
    folder: Path,
    failures: Path,
    tally: Tally,
    overrides: Seq[(String, String)] = Nil) {
  private val location = folder.toUri.toString.stripSuffix("/")
  private var checked = Vector.empty[(Query, Outcome)]

  /** All queries that ran alone, with what they gave. */
  def queries: Seq[(Query, Outcome)] = checked

  def seed: Long = star.seed

  def make(worker: Worker): Unit = worker.make(star)

  /** Runs a query alone, cold, promoted and warm. */
  def run(worker: Worker, number: Int): Unit = {
    val (query, expected) = alone(worker, number)
    checked :+= query -> expected
    worker.clear(location)
    StarRun.Runs.foreach(check(worker, query, expected, _))
  }

  /** Runs a query alone and, with what the pools hold by then, twice with the cache. */
  def runOnCluster(worker: Worker, number: Int): Unit = {
    val (query, expected) = alone(worker, number)
    Seq("first", "second").foreach(check(worker, query, expected, _))
  }

  private def alone(worker: Worker, number: Int): (Query, Outcome) = {
    val query = new Query(star.seed * 1000003 + number, star)
    val outcome = worker.run(query, isAlone = true, overrides).outcome
    tally.query(query, outcome)
    query -> outcome
  }

  /** Runs a query with the cache and compares; the worker has to be in the star's database. */
  def check(worker: Worker, query: Query, expected: Outcome, run: String): Unit = {
    val ran = worker.run(query, isAlone = false, overrides)
    Outcome.difference(expected, ran.outcome) match {
      case None => tally.run(query, expected, ran, run)
      case Some(what) =>
        unsafeSetting(worker, query, ran.outcome) match {
          case Some(setting) =>
            tally.judge(setting)
            tally.run(query, ran.outcome, ran, run)
          case None => fail(query, run, said(worker, query, expected) + what)
        }
    }
  }

  /** The setting without which Spark alone gives what the cache gave, of those that break its reader. */
  private def unsafeSetting(worker: Worker, query: Query, cached: Outcome): Option[String] = {
    val had = query.settings.toMap ++ overrides
    val single = SessionSettings.Safe.filter { case (key, safe) => had(key) != safe }.map(Seq(_))
    (single :+ SessionSettings.Safe :+ SessionSettings.RowReader).find { safe =>
      Outcome.difference(
        worker.run(query, isAlone = true, overrides ++ safe).outcome,
        cached).isEmpty
    }.map(_.map { case (key, value) => s"$key=$value" }.mkString(", "))
  }

  /** A query of several right results, which must not be written, is told from a wrong one. */
  private def said(worker: Worker, query: Query, expected: Outcome): String =
    if (worker.run(query, isAlone = true, overrides).outcome == expected) ""
    else "(Spark alone gives something else the second time) "

  private def fail(query: Query, run: String, difference: String): Unit = {
    val file = failures.resolve(s"star-${star.seed}-${tally.failures}-$run.sql")
    val settings = (query.settings ++ overrides).map { case (key, value) => s"SET `$key`=$value" }
    val script = star.statements ++ settings :+ query.sql
    Files.createDirectories(failures)
    Files.writeString(
      file,
      difference.linesIterator.map("-- " + _ + "\n").mkString + script.mkString("", ";\n", ";\n"))
    tally.fail(Failed(star.seed, run, query.sql, s"$difference\nscript: $file"))
  }

  /** Takes all of it away. */
  def drop(worker: Worker): Unit = {
    worker.execute(Seq("USE default", s"DROP DATABASE ${star.database} CASCADE"))
    DataFolder.delete(folder)
  }
}

private object StarRun {

  /** The second run finds encoded chunks in the pool and makes vector chunks of them. */
  val Runs: Seq[String] = Seq("cold", "promoted", "warm")
}
