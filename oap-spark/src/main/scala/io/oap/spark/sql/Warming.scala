package io.oap.spark.sql

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types.{LongType, StringType}

import io.oap.cache.WarmedChunks.Sum
import io.oap.cache.stats.MissCause
import io.oap.spark.directory.NewFiles
import io.oap.spark.internals.SparkVersion
import io.oap.spark.read.{Warmed, WarmReaderFactory, WarmTasks}

/**
 * Loads what a query would read into the pools in which later queries look for it: the scan is
 * planned as for the query, placement included, and its tasks load chunks instead of giving rows.
 */
private[spark] object Warming {

  /** How often tasks that were sent where their chunks do not belong are sent again. */
  private val Patience = 2

  val columns: Seq[SystemColumn[Warmed]] = {
    def sums(name: String, what: String, of: Warmed => Sum): Seq[SystemColumn[Warmed]] = Seq(
      SystemColumn(s"${name}_chunks", LongType, s"column chunks that $what", of(_).chunks),
      SystemColumn(s"${name}_bytes", LongType, "their encoded bytes", of(_).bytes)
    )
    SystemColumn[Warmed]("executor_id", StringType, "Spark's id of the executor", _.executor) +:
      (sums("loaded", "were loaded", _.loaded) ++
        sums("present", "were there already", _.present) ++
        sums("refused", "were not taken in", _.refused)) :+
      SystemColumn[Warmed]("why", StringType, "why not", why(_).orNull)
  }

  /**
   * Warms a table.
   *
   * @param columns names as in a query; nothing stands for all
   * @param filter a condition as in WHERE
   * @throws org.apache.spark.sql.AnalysisException when there is no such table or column, the
   *     filter is none, the user may not read the files, or the session does not read the table
   *     through the cache
   */
  def table(
      session: SparkSession,
      table: String,
      columns: Option[Seq[String]],
      filter: Option[String]): Seq[Warmed] = {
    val all = FileChecks.lookingAt(table)(session.table(table))
    val some = filter.fold(all)(all.where(_))
    val query = columns.fold(some)(names => some.select(names.map(col(_)): _*))
    run(session, table, query.asInstanceOf[classic.Dataset[_]].queryExecution)
  }

  /** Warms new files of a pinned table, in the columns that are pinned. */
  def newFiles(pinned: NewFiles): Unit = {
    val all = pinned.session.table(pinned.table)
    val names = all.columns.filter(pinned.columns.contains).map(name => col(quoteIfNeeded(name)))
    if (names.nonEmpty) {
      val context = pinned.session.sparkContext
      context.setJobDescription(s"Loads new files of the pinned table ${pinned.table}")
      val query = all.select(names.toSeq: _*).asInstanceOf[classic.Dataset[_]].queryExecution
      pinned.session.asInstanceOf[classic.SparkSession].withActive {
        run(pinned.session, pinned.table, query, _.reading(pinned.files)): Unit
      }
    }
  }

  /**
   * Warms what a query reads of the table of this name.
   *
   * @param some which tasks of each scan are run
   */
  def run(
      session: SparkSession,
      table: String,
      query: QueryExecution,
      some: WarmTasks => WarmTasks = identity): Seq[Warmed] = {
    val tables = FilePaths.tables(table, FileChecks.lookingAt(table)(query.analyzed))
    if (query.analyzed.exists(_.expressions.exists(SubqueryExpression.hasSubquery(_)))) {
      throw StatusException.invalidArgument("warm", "filter", "a condition without subqueries")
    }
    val all = PlannedScan.of(session, table, tables, query.executedPlan).map(
      _.warmTasks().fold(throw StatusException.notCached(table))(some))
    for (tasks <- all; opened <- tasks.hadoop) FileChecks.check(session, tasks.partitions, opened)
    val answers = FileChecks.lookingAt(table)(all.flatMap(tasks =>
      load(session, tasks.partitions, tasks.readers, Patience)))
    val warmed = answers.groupBy(_.executor).values.map(_.reduce(together)).toSeq
      .sortBy(one => (one.executor.length, one.executor))
    if (warmed.nonEmpty && warmed.forall(_.fault.isDefined)) {
      throw StatusException.refused("warm", warmed.head.fault.get)
    }
    warmed
  }

  private def load(
      session: SparkSession,
      partitions: Seq[InputPartition],
      readers: Boolean => WarmReaderFactory,
      patience: Int): Seq[Warmed] = {
    val rows = SparkVersion.rows(session.sparkContext, partitions, readers(patience > 0))
    val rdd: RDD[(Int, Warmed)] =
      rows.mapPartitionsWithIndex((index, rows) => rows.map(row => index -> Warmed.of(row)))
    val (elsewhere, done) = rdd.collect().toSeq.partition(_._2.isElsewhere)
    val left = elsewhere.map { case (index, _) => partitions(index) }
    done.map(_._2) ++ (if (left.isEmpty) Nil else load(session, left, readers, patience - 1))
  }

  private def together(a: Warmed, b: Warmed): Warmed = Warmed(
    a.executor,
    a.loaded.plus(b.loaded),
    a.present.plus(b.present),
    a.refused.plus(b.refused),
    a.causes.zip(b.causes).map { case (one, other) => one + other },
    fault = a.fault.orElse(b.fault)
  )

  private def why(warmed: Warmed): Option[String] = warmed.fault.orElse {
    val gone = "had to leave again at once" -> (warmed.refused.chunks - warmed.causes.sum)
    val refusals = MissCause.values.toSeq.map(_.reason).zip(warmed.causes)
    val reasons =
      (refusals :+ gone).collect { case (why, chunks) if chunks > 0 => s"$why: $chunks" }
    if (reasons.isEmpty) None else Some(reasons.mkString(", "))
  }
}
