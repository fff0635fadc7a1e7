package io.oap.tpcds.random

import java.time.Instant

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.spark.CacheControl
import io.oap.tpcds.ScanMetrics

/**
 * Runs queries one after the other in a session of its own, in the application it shares with others.
 * For one thread.
 */
final class Worker(session: SparkSession) extends AdaptiveSparkPlanHelper {

  /** What it does now and since when, to find what hangs. */
  @volatile var now: (String, Instant) = ("nothing", Instant.now())

  /**
   * Asks before a failure is told of.
   *
   * @throws InterruptedException where the application ends, as by an interrupt: then it says nothing
   */
  def requireRunning(): Unit =
    if (session.sparkContext.isStopped) throw new InterruptedException("the application ends")

  def execute(statements: Seq[String]): Unit = statements.foreach { statement =>
    now = (statement, Instant.now())
    session.sql(statement).collect()
  }

  /** Makes a star. Writers read the settings of the session, which only the star's own statements set. */
  def make(star: Star): Unit = {
    session.conf.set("spark.oap.cache.enabled", false)
    execute(star.statements)
  }

  def use(star: Star): Unit = execute(Seq(s"USE ${star.database}"))

  /** Tells the session how tables are read for the commits that follow, which no error of a value may end. */
  def forCommits(settings: Seq[(String, String)]): Unit = {
    (settings ++ SessionSettings.Safe).foreach { case (key, value) => session.conf.set(key, value) }
    session.conf.set("spark.sql.ansi.enabled", false)
  }

  /** Changes a table. */
  def commit(statement: String, isAlone: Boolean): Unit = {
    session.conf.set("spark.oap.cache.enabled", !isAlone)
    execute(Seq(statement))
  }

  /** What a query comes to alone. */
  def rows(sql: String): Outcome = {
    session.conf.set("spark.oap.cache.enabled", false)
    session.conf.set("spark.sql.datetime.java8API.enabled", true)
    Outcome.of(session.sql(sql))._1
  }

  /** Schema and rows of a query through the cache, with settings under which Spark reads rightly. */
  def table(sql: String): (String, Seq[String]) = {
    (SessionSettings.of(new Choices(0)) ++ SessionSettings.Safe).foreach { case (key, value) =>
      session.conf.set(key, value)
    }
    session.conf.set("spark.oap.cache.enabled", true)
    session.conf.set("spark.sql.datetime.java8API.enabled", true)
    val frame = session.sql(sql)
    (frame.schema.json, frame.collect().map(Outcome.text(_)).toSeq)
  }

  /** The one row of a query, value by value. */
  def values(sql: String): Seq[String] = session.sql(sql).head().toSeq.map(Outcome.text)

  /** Where the files of a table lie. */
  def location(table: String): String = session
    .sql(s"DESCRIBE FORMATTED $table")
    .collect()
    .collectFirst { case row if row.getString(0) == "Location" => row.getString(1) }
    .get

  /** Empties the pools of what the star's files left there. */
  def clear(folder: String): Unit =
    execute(Seq(s"CALL oap.system.clear(path => '$folder')"))

  /**
   * Runs a query of the star that is used.
   *
   * @param more settings that go before the query's own
   */
  def run(query: Query, isAlone: Boolean, more: Seq[(String, String)] = Nil): Ran = {
    now = (query.sql, Instant.now())
    (query.settings ++ more).foreach { case (key, value) => session.conf.set(key, value) }
    session.conf.set("spark.oap.cache.enabled", !isAlone)
    session.conf.set("spark.sql.datetime.java8API.enabled", true)
    val (outcome, plan) = Outcome.of(session.sql(query.sql))
    val scans = plan.map(ScanMetrics.of)
    val uncached = plan.fold(0)(collectWithSubqueries(_) {
      case scan: FileSourceScanExec if CacheControl.figures(scan).isEmpty => scan
      case scan: BatchScanExec if !scan.metrics.contains(ScanMetrics.Names.head) => scan
    }.size)
    Ran(outcome, scans.getOrElse(Map.empty), uncached)
  }
}

/**
 * A query that was run.
 *
 * @param scan metrics of its scans through the cache; empty when there was none
 * @param uncached how many scans read files without it
 */
final case class Ran(outcome: Outcome, scan: Map[String, Long], uncached: Int) {
  def isServed: Boolean = scan.nonEmpty

  def hasNoScan: Boolean = scan.isEmpty && uncached == 0
}
