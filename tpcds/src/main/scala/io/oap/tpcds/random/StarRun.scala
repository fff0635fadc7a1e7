package io.oap.tpcds.random

import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer

import io.oap.tpcds.data.DataFolder

/**
 * A star and its queries: made, run, judged and thrown away. Where its tables keep their versions,
 * there are commits between queries.
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
  private val checked = ArrayBuffer.empty[(Query, Outcome)]
  private val made = ArrayBuffer.from(star.statements)
  private lazy val changes = new StarChanges(star, tally, made += _)

  /**
   * All queries that ran alone, with what they gave. Of tables that have changed since they are
   * queries of former versions.
   */
  def queries: Seq[(Query, Outcome)] = checked.toSeq

  def seed: Long = star.seed

  def make(worker: Worker): Unit = {
    worker.make(star)
    if (star.form.hasVersions) changes.begin(worker)
  }

  /** Runs a query alone, cold, promoted and warm. */
  def run(worker: Worker, number: Int): Unit = {
    if (star.form.hasVersions) beforeQuery(worker, number)
    val (query, expected) = alone(worker, number)
    checked += (if (star.form.hasVersions) query.at(changes.versions) else query) -> expected
    worker.clear(location)
    StarRun.Runs.foreach(check(worker, query, expected, _))
  }

  /** At times commits; at times asks for what a former version gave. */
  private def beforeQuery(worker: Worker, number: Int): Unit = {
    val choices = new Choices(star.seed * 31 + number)
    if (number > 0 && choices.chance(StarRun.CommitPercent)) {
      changes.commit(worker).foreach(said =>
        fail(Query(s"SELECT * FROM ${said._1}", Set.empty, Nil), "commit", said._2))
      if (choices.chance(StarRun.FormerPercent)) {
        val (query, expected) = choices.oneOf(queries: _*)
        check(worker, query, expected, "former")
      }
    }
  }

  /** Runs a query alone and, with what the pools hold by then, twice with the cache. */
  def runOnCluster(worker: Worker, number: Int): Unit = {
    val (query, expected) = alone(worker, number)
    Seq("first", "second").foreach(check(worker, query, expected, _))
  }

  private def alone(worker: Worker, number: Int): (Query, Outcome) = {
    val tables = if (star.form.hasVersions) changes.tables else star.tables
    val query = Query.of(star.seed * 1000003 + number, tables, star.form)
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
        worker.requireRunning()
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
    val script = made.toSeq ++ settings :+ query.sql
    Files.createDirectories(failures)
    Files.writeString(
      file,
      difference.linesIterator.map("-- " + _ + "\n").mkString + script.mkString("", ";\n", ";\n"))
    tally.fail(Failed(star.seed, run, query.sql, s"$difference\nscript: $file"))
  }

  /** Takes all of it away. */
  def drop(worker: Worker): Unit = {
    val tables = star.tables.map(table => s"DROP TABLE IF EXISTS ${star.database}.${table.name}")
    worker.execute(tables ++ Seq(
      "USE spark_catalog.default",
      s"DROP DATABASE IF EXISTS ${star.database}"))
    DataFolder.delete(folder)
  }
}

private object StarRun {

  /** The second run finds encoded chunks in the pool and makes vector chunks of them. */
  val Runs: Seq[String] = Seq("cold", "promoted", "warm")

  private val CommitPercent = 25
  private val FormerPercent = 40
}
