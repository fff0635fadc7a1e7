package io.oap.tpcds.random

import java.nio.file.{Files, Path}

import io.oap.tpcds.DataFolder

/**
 * A star and its queries: made, run, judged and thrown away.
 *
 * @param failures folder for what reproduces failures
 */
final class StarRun(val star: Star, folder: Path, failures: Path, tally: Tally) {
  private val location = folder.toUri.toString.stripSuffix("/")
  private var checked = Vector.empty[(Query, Outcome)]

  /** All queries that ran alone, with what they gave. */
  def queries: Seq[(Query, Outcome)] = checked

  def make(worker: Worker): Unit = worker.make(star)

  /** Runs a query alone, cold, promoted and warm. */
  def run(worker: Worker, number: Int): Unit = {
    val query = new Query(star.seed * 1000003 + number, star)
    val alone = worker.run(query, isAlone = true).outcome
    tally.query(query, alone)
    checked :+= query -> alone
    worker.clear(location)
    StarRun.Runs.foreach(check(worker, query, alone, _))
  }

  /** Runs a query with the cache and compares; the worker has to be in the star's database. */
  def check(worker: Worker, query: Query, expected: Outcome, run: String): Unit = {
    val ran = worker.run(query, isAlone = false)
    Outcome.difference(expected, ran.outcome) match {
      case None => tally.run(query, expected, ran)
      case Some(what) =>
        val safe = worker.run(query, isAlone = true, SessionSettings.Safe).outcome
        if (safe != expected && Outcome.difference(safe, ran.outcome).isEmpty) {
          tally.judge()
          tally.run(query, safe, ran)
        } else fail(query, run, said(worker, query, expected) + what)
    }
  }

  /** A query of several right results, which must not be written, is told from a wrong one. */
  private def said(worker: Worker, query: Query, expected: Outcome): String =
    if (worker.run(query, isAlone = true).outcome == expected) ""
    else "(Spark alone gives something else the second time) "

  private def fail(query: Query, run: String, difference: String): Unit = {
    val file = failures.resolve(s"star-${star.seed}-${tally.failures.size}-$run.sql")
    val settings = query.settings.map { case (key, value) => s"SET `$key`=$value" }
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
