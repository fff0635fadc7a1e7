package io.oap.tpcds.scale

import java.util.concurrent.{Callable, Executors, TimeUnit}
import java.util.concurrent.atomic.LongAdder

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}

import io.oap.tpcds.{Queries, RowComparison, ScanMetrics}
import io.oap.tpcds.storage.ModelledMedium

/**
 * Those who run queries at the same time, each on a thread and in a FAIR pool of its own.
 *
 * @param expected rows by query, of whoever ran it first: everybody else's must be the same
 */
final class Tenants(
    session: SparkSession,
    plan: Plan,
    system: MeasuredSystem,
    expected: TrieMap[String, Seq[Row]]) {
  private val medium = Option.when(system.medium.nonEmpty) {
    ModelledMedium.named(system.medium, session.sparkContext.defaultParallelism)
  }

  /**
   * Runs all queries of one round.
   *
   * @param done called whenever a query has ended, with how many have
   */
  def round(repeat: Int, number: Int, done: Long => Unit): Seq[QueryTime] = {
    val ended = new LongAdder
    val start = System.nanoTime()
    val threads = Executors.newFixedThreadPool(plan.tenants)
    val tasks = Tenants.queries(plan, repeat, number).zipWithIndex.map { case (queries, tenant) =>
      val task: Callable[Seq[QueryTime]] = () => {
        session.sparkContext.setLocalProperty("spark.scheduler.pool", s"tenant$tenant")
        queries.map { query =>
          val time = run(query, tenant, start)
          ended.increment()
          done(ended.sum())
          time
        }
      }
      task
    }
    try threads.invokeAll(tasks.asJava).asScala.toSeq.flatMap(_.get())
    finally threads.shutdownNow()
  }

  private def run(query: String, tenant: Int, roundStart: Long): QueryTime = {
    val text = Queries.text(query)
    val start = System.nanoTime()
    def ran(error: String): QueryTime = QueryTime(
      query,
      tenant,
      begun = Tenants.seconds(start - roundStart),
      seconds = Tenants.seconds(System.nanoTime() - start),
      0,
      0,
      0,
      0,
      0,
      0,
      "",
      error)
    try {
      val frame = session.sql(text)
      val rows = frame.collect().toSeq
      val scan = ScanMetrics.of(frame.queryExecution.executedPlan)
      def metric(name: String): Long = scan.getOrElse(name, 0L)
      delay(System.nanoTime() - start, metric("bytesFromPool"), metric("chunksHit"))
      val time = ran("")
      val difference = expected.putIfAbsent(query, rows).flatMap(RowComparison.difference(_, rows))
      time.copy(
        fromPool = metric("bytesFromPool"),
        fromFile = metric("bytesFromFile"),
        chunksHit = metric("chunksHit"),
        chunksMissed = metric("chunksMissed"),
        chunksBypassed = metric("chunksBypassed"),
        rows = rows.length,
        difference = difference.getOrElse("")
      )
    } catch {
      case NonFatal(e) => ran(String.valueOf(e.getMessage).linesIterator.nextOption().getOrElse(""))
    }
  }

  /** What is no part of the query: the injected effect and the modelled medium. */
  private def delay(nanos: Long, fromPool: Long, chunks: Long): Unit = {
    medium.foreach(_.read(fromPool, chunks))
    TimeUnit.NANOSECONDS.sleep(((system.slowdown - 1) * nanos).toLong)
  }
}

object Tenants {

  /**
   * The queries of each tenant in one round, in order: the same for all systems, whatever they are.
   */
  def queries(plan: Plan, repeat: Int, number: Int): Seq[Seq[String]] = {
    def shuffled(tenant: Int): Seq[String] =
      new Random(Seq(plan.seed, repeat, number, tenant).hashCode).shuffle(plan.queries)
    if (!plan.deal) (0 until plan.tenants).map(shuffled)
    else {
      val dealt = shuffled(0).zipWithIndex.groupMap(_._2 % plan.tenants)(_._1)
      (0 until plan.tenants).map(tenant => dealt.getOrElse(tenant, Nil))
    }
  }

  private def seconds(nanos: Long): Double = nanos.toDouble / TimeUnit.SECONDS.toNanos(1)
}
