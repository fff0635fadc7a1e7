package io.oap.tpcds.scale

import java.util.concurrent.{Callable, Executors, TimeUnit}
import java.util.concurrent.atomic.LongAdder

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.Random
import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}

import io.oap.tpcds.{Queries, RowComparison}
import io.oap.tpcds.result.{MeasuredSystem, Plan, QueryRun, Sweep}
import io.oap.tpcds.storage.ModelledMedium

/**
 * Tenants that run queries at the same time, each on a thread and in FAIR pools of its own.
 *
 * @param plan as its system carries it out
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

  private val busy = system.cell.fold(1.0)(_.busy)

  /**
   * Runs all queries of one round, and the sweeps between them where there are some.
   *
   * @param done called whenever a query has ended, with how many have
   */
  def round(repeat: Int, number: Int, done: Long => Unit): Seq[QueryRun] = {
    val ended = new LongAdder
    val start = System.nanoTime()
    val threads = Executors.newFixedThreadPool(plan.tenants)
    val tasks = Tenants.queries(plan, repeat, number).zipWithIndex.map { case (queries, tenant) =>
      val task: Callable[Seq[QueryRun]] = () => {
        val chance = Tenants.chance(plan, repeat, number, tenant)
        queries.zipWithIndex.flatMap { case (query, i) =>
          session.sparkContext.setLocalProperty(Tenants.Pool, Tenants.pool(tenant, i))
          val time = run(query, Queries.text(query), tenant, start)
          ended.increment()
          done(ended.sum())
          if (busy < 1) pause(time.seconds, chance)
          time +: plan.sweep.filter(s => (i + 1) % s.every == 0).map(sweep(_, tenant, start)).toSeq
        }
      }
      task
    }
    try threads.invokeAll(tasks.asJava).asScala.toSeq.flatMap(_.get())
    finally threads.shutdownNow()
  }

  /** By chance half to one and a half times what keeps the tenant as busy as its cell says. */
  private def pause(seconds: Double, chance: Random): Unit = {
    val nanos = (1 / busy - 1) * seconds * (0.5 + chance.nextDouble()) * Tenants.Second
    TimeUnit.NANOSECONDS.sleep(nanos.toLong)
  }

  /** Reads a value of all columns together, so that none of them can be left out. */
  private def sweep(over: Sweep, tenant: Int, roundStart: Long): QueryRun =
    run(Tenants.Sweep, s"SELECT max(xxhash64(*)) FROM ${over.table}", tenant, roundStart)

  private def run(query: String, text: String, tenant: Int, roundStart: Long): QueryRun = {
    val start = System.nanoTime()
    def timed(run: QueryRun): QueryRun = run.copy(
      tenant = tenant,
      begun = Tenants.seconds(start - roundStart),
      seconds = QueryRun.secondsSince(start))
    try {
      val (rows, run) = QueryRun.of(session, query, text)
      delay(System.nanoTime() - start, run.fromPool, run.metric("chunksHit"))
      val ended = timed(run)
      val difference = expected.putIfAbsent(query, rows).flatMap(RowComparison.difference(_, rows))
      ended.copy(difference = difference.getOrElse(""))
    } catch {
      case NonFatal(e) =>
        val said = String.valueOf(e.getMessage).linesIterator.nextOption().getOrElse("")
        timed(QueryRun(query, 0, Map.empty, 0, error = said))
    }
  }

  /** What is no part of the query: the injected effect and the modelled medium. */
  private def delay(nanos: Long, fromPool: Long, chunks: Long): Unit = {
    medium.foreach(_.read(fromPool, chunks))
    TimeUnit.NANOSECONDS.sleep(((system.slowdown - 1) * nanos).toLong)
  }
}

object Tenants {

  private val Pool = "spark.scheduler.pool"

  /**
   * The FAIR pool of a tenant's query. Of pools with equally many running tasks Spark serves the one
   * whose name comes first. Where cores are fewer than tenants most of them have none, and by a name for
   * each tenant the first tenants would get everything. So who has had the fewest queries is served.
   */
  private[scale] def pool(tenant: Int, queriesBefore: Int): String =
    f"after $queriesBefore%06d queries, tenant $tenant%03d"

  /** Stands for the name of a query where a table was swept. */
  val Sweep = "sweep"

  /**
   * The queries of each tenant in one round, in order: the same for all systems, whatever they are.
   */
  def queries(plan: Plan, repeat: Int, number: Int): Seq[Seq[String]] = {
    def shuffled(tenant: Int): Seq[String] =
      chance(plan, repeat, number, tenant).shuffle(plan.queries)
    if (!plan.deal) (0 until plan.tenants).map(shuffled)
    else {
      val dealt = shuffled(0).zipWithIndex.groupMap(_._2 % plan.tenants)(_._1)
      (0 until plan.tenants).map(tenant => dealt.getOrElse(tenant, Nil))
    }
  }

  private def chance(plan: Plan, repeat: Int, number: Int, tenant: Int): Random =
    new Random(Seq(plan.seed, repeat, number, tenant).hashCode)

  private val Second = TimeUnit.SECONDS.toNanos(1)

  private def seconds(nanos: Long): Double = nanos.toDouble / Second
}
