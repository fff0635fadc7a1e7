package io.oap.tpcds.cluster

import scala.concurrent.duration._
import scala.util.Try

import org.apache.spark.SparkContext
import org.apache.spark.sql.{Row, SparkSession}

import io.oap.spark.CacheControl
import io.oap.tpcds.{Progress, Queries, RowComparison, Systems}
import io.oap.tpcds.data.DataFolder
import io.oap.tpcds.result.{QueryRun, Round}
import io.oap.tpcds.storage.StorageClass

/**
 * One Spark application on the cluster, with executors and pools of its own, from its start until
 * it is closed. One at a time, because it takes all workers.
 *
 * @param settings of Spark, beside what the cluster's configuration says
 */
final class Application(options: ClusterOptions, settings: Map[String, String])
    extends AutoCloseable {
  private val systems = Systems.start(
    settings + ("spark.default.parallelism" -> (options.executors * options.cores).toString))
  val oap: SparkSession = systems.oap
  val sparkAlone: SparkSession = systems.sparkAlone
  private val context = oap.sparkContext

  Application.waitFor(s"${options.executors} executors")(hosts.size >= options.executors)
  registerTables()

  private def registerTables(): Unit = {
    val data = new DataFolder(options.data, options.scale)
    val tables = Queries.tables(options.queries)
    val storage = StorageClass.ofScheme(options.storage)
    val progress = Progress.ofTerminal()
    data.complete(sparkAlone, tables, partitioned = false, progress)
    progress.clear()
    val copy = new StoreCopy(options.store, context.hadoopConfiguration)
    for (session <- Seq(sparkAlone, oap)) {
      if (options.store.isEmpty) data.register(session, tables, partitioned = false, storage)
      else data.register(session, tables, partitioned = false, copy.of(_))
    }
  }

  /** Hosts of the executors that are alive now, one for each executor. */
  def hosts: Seq[String] = Application.hosts(context)

  /** Where executors can be reached that are alive now: no two ever have the same. */
  def addresses: Set[String] = context.getExecutorMemoryStatus.keySet.toSet

  /** Whether a stage runs, with at least so many tasks, of which some have ended. */
  def isInTheMiddle(tasks: Int): Boolean = {
    val tracker = context.statusTracker
    tracker.getActiveStageIds().flatMap(tracker.getStageInfo(_)).exists { stage =>
      stage.numTasks() >= tasks && stage.numCompletedTasks() > 0 && stage.numActiveTasks() > 0
    }
  }

  /** Does something while all cores of an executor are taken by another job. */
  def whileBusy[T](executor: String)(body: => T): T = {
    val host = held().executors(executor).host
    val busy = new BusyExecutor(context, executor, host, options.cores)
    try body
    finally busy.close()
  }

  /** What the executors' pools hold now. */
  def held(): Held = Held(CacheControl.held(oap))

  /** The rows of Spark alone. */
  def expected(query: String): Seq[Row] = sparkAlone.sql(Queries.text(query)).collect().toSeq

  /** Runs a query, unless by Spark alone through the cache, and compares its rows. */
  def run(query: String, expected: Seq[Row], placement: String): QueryRun = {
    val session = if (placement == Round.SparkAlone) sparkAlone else oap
    if (session eq oap) oap.conf.set("spark.oap.placement", placement)
    val (rows, run) = QueryRun.of(session, query)
    run.copy(difference = RowComparison.difference(expected, rows).getOrElse(""))
  }

  /** Runs a query as [[run]] does; says how its rows differ or why it failed, or nothing. */
  def difference(query: String, expected: Seq[Row], placement: String): String =
    Try(run(query, expected, placement)).fold(e => e.toString.takeWhile(_ != '\n'), _.difference)

  /** Runs all queries once, on tables of which each query reads something. */
  def round(number: Int, placement: String, expected: Map[String, Seq[Row]]): Round = {
    // Spark frees the broadcasts of earlier queries after a garbage collection only.
    System.gc()
    val runs = options.queries.map(q => run(q, expected(q), placement))
    Round.served(placement, number, runs)
  }

  override def close(): Unit = context.stop()
}

object Application {
  private val Patience = 2.minutes

  /** Hosts of the executors that are alive now, one for each executor. */
  def hosts(context: SparkContext): Seq[String] = {
    // The keys are host:port. Spark's status tracker fails while an executor is joining.
    val all = context.getExecutorMemoryStatus.keys.toSeq.map(_.split(':').head)
    all.filterNot(_ == context.getConf.get("spark.driver.host"))
  }

  /** @throws IllegalStateException when it does not come true within two minutes */
  def waitFor(what: String)(isSo: => Boolean): Unit = {
    val deadline = Patience.fromNow
    while (!isSo) {
      if (deadline.isOverdue()) throw new IllegalStateException(s"after $Patience still no $what")
      Thread.sleep(100)
    }
  }

  /** Gives an application to the body and ends it. */
  def use[T](options: ClusterOptions, settings: (String, String)*)(body: Application => T): T = {
    val application = new Application(options, settings.toMap)
    try body(application)
    finally application.close()
  }
}
