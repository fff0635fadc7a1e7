package io.oap.tpcds.scale

import scala.util.control.NonFatal

import org.apache.spark.sql.{Row, SparkSession}

import io.oap.tpcds.{FileReads, InTurn, Progress, Queries, RowComparison, Systems, Turns}
import io.oap.tpcds.lake.TableForm
import io.oap.tpcds.result.{Plan, QueryRun, Round, Statistics}
import io.oap.tpcds.storage.StorageClass

/**
 * The systems of a plan as sessions of one application, which take turns: they share the JVM, its
 * compiled code and the pool. The script has checked that they can.
 */
final class PairedSystems(plan: Plan, progress: Progress) extends Turns {
  private val form = TableForm.named(plan.form)
  private val storage = StorageClass.ofScheme(plan.storage)
  private val systems = Systems.start(form.settings(plan.data, plan.scale, storage))
  private val kinds = plan.systems.map(system => system.name -> system.kind).toMap
  private val sessions: Map[String, SparkSession] = plan.systems.map { system =>
    system.name -> systems.session(isOap(system.name), system.settings)
  }.toMap
  private val data = form.data(plan.data, plan.scale)
  private val reads = new FileReads(sparkAlone.sparkContext)

  /** Spark without the extension and with nothing of its own. */
  def sparkAlone: SparkSession = systems.sparkAlone

  def layoutWords: String = data.layoutWords(sparkAlone)

  start()

  private def start(): Unit = {
    val tables = Queries.tables(plan.queries)
    data.complete(sparkAlone, tables, plan.partitioned, progress)
    for (session <- Seq(sparkAlone, systems.oap)) {
      data.register(session, tables, plan.partitioned, storage)
    }
    systems.clearCache()
  }

  /** @return all rounds; the first one of those to warm up finds an empty pool */
  def rounds(): Seq[Round] =
    new InTurn(this, 1 - plan.warmUps to plan.rounds, progress).of(plan.queries)

  override def names: Seq[String] = plan.systems.map(_.name)

  // First runs are compared, too, so the system that begins changes from query to query as well.
  override def order(query: Int, number: Int): Seq[String] =
    if ((query + number) % 2 == 0) names else names.reverse

  override def run(system: String, query: String): (Seq[Row], QueryRun) =
    try {
      val (rows, run) = reads.ofRun(sessions(system), query)
      (rows, if (isOap(system)) run.orNotServed(run.scan.nonEmpty) else run)
    } catch {
      case NonFatal(e) =>
        val said = s"${e.getClass.getSimpleName}: ${e.getMessage}".linesIterator.next()
        (Nil, QueryRun(query, 0, Map.empty, 0, error = said))
    }

  // Said at once: the table comes only after all queries, and never if somebody ends the run.
  override def ended(query: String, runs: Seq[(String, Int, QueryRun)]): Unit = {
    val words = names.map { name =>
      val own = runs.collect { case (`name`, number, run) => number -> run }
      own.map(_._2).find(run => run.error.nonEmpty || run.difference.nonEmpty) match {
        case Some(wrong) => s"$name ${wrong.error}${wrong.difference}"
        case None =>
          val warm = Statistics.median(own.filter(_._1 > 0).map(_._2.seconds))
          f"$name ${own.minBy(_._1)._2.seconds}%.2f s first, $warm%.2f s"
      }
    }
    progress.say(s"$query: ${words.mkString("; ")}")
  }

  override def areAsRight(system: String, query: String, rows: Seq[Row]): Boolean =
    RowComparison.onlyTiesDiffer(sparkAlone, sessions(system), Queries.text(query), rows)

  private def isOap(system: String): Boolean = kinds(system) == "oap"
}
