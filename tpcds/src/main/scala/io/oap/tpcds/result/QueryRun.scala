package io.oap.tpcds.result

import java.util.concurrent.TimeUnit

import com.fasterxml.jackson.databind.annotation.JsonDeserialize
import org.apache.spark.sql.{Row, SparkSession}

import io.oap.tpcds.{PlanSteps, Queries, ScanMetrics}

/**
 * One run of one query.
 *
 * @param seconds from the SQL text to the collected rows
 * @param scan the scans' own metrics, see [[io.oap.tpcds.ScanMetrics]]; empty for Spark alone
 * @param rows how many it gave
 * @param tenant who ran it, from 0
 * @param begun seconds since its round began
 * @param fileBytes read from data files, as Spark or the file system counted them; none where only
 *     the round knows it, because queries ran at the same time
 * @param requests to the file system, where it was asked
 * @param steps what its plan did how often, see [[io.oap.tpcds.PlanSteps]]
 * @param difference how the rows differ from what they should be; empty when they do not
 * @param error why the query failed; empty when it did not
 */
final case class QueryRun(
    query: String,
    seconds: Double,
    @JsonDeserialize(contentAs = classOf[java.lang.Long]) scan: Map[String, Long],
    rows: Int,
    tenant: Int = 0,
    begun: Double = 0,
    @JsonDeserialize(contentAs = classOf[java.lang.Long]) fileBytes: Option[Long] = None,
    @JsonDeserialize(contentAs = classOf[java.lang.Long]) requests: Option[Long] = None,
    @JsonDeserialize(contentAs = classOf[java.lang.Long]) steps: Map[String, Long] = Map.empty,
    difference: String = "",
    error: String = "") {
  def ended: Double = begun + seconds

  /** 0 when no scan read through the cache. */
  def metric(name: String): Long = scan.getOrElse(name, 0L)

  /** Bytes of column chunks taken from the pools of the tasks' own executors. */
  def fromPool: Long = metric("bytesFromPool")

  /** Bytes that scans through the cache read from files, footers included. */
  def fromFile: Long = metric("bytesFromFile")

  /** With a difference when the cache did not serve it, unless its rows differ already. */
  def orNotServed(isServed: Boolean): QueryRun =
    if (isServed || difference.nonEmpty) this
    else copy(difference = "the extension served none of the scans")
}

object QueryRun {

  /** Runs a query of TPC-DS; whoever calls judges the rows. */
  def of(session: SparkSession, query: String): (Seq[Row], QueryRun) =
    of(session, query, Queries.text(query))

  /** Runs this text in the name of a query. */
  def of(session: SparkSession, query: String, text: String): (Seq[Row], QueryRun) = {
    val start = System.nanoTime()
    val frame = session.sql(text)
    val rows = frame.collect().toSeq
    val seconds = secondsSince(start)
    val plan = frame.queryExecution.executedPlan
    (rows, QueryRun(query, seconds, ScanMetrics.of(plan), rows.size, steps = PlanSteps.of(plan)))
  }

  private[tpcds] def secondsSince(nanoTime: Long): Double =
    (System.nanoTime() - nanoTime).toDouble / TimeUnit.SECONDS.toNanos(1)
}
