package io.oap.spark.sql

import java.util.{Collections, Iterator => JavaIterator}

import scala.concurrent.duration._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures._
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.types._

import io.oap.common.OapConfig
import io.oap.spark.buildside.BuildSides
import io.oap.spark.cluster.{Answer, Cluster}
import io.oap.spark.executor.{Clear, ExecutorRequest, PathSlices}

/**
 * A procedure of `oap.system`. All of them change what the pools hold, so that they ask Spark's
 * right to modify the application. It checks its arguments before it does anything.
 *
 * @param run does it and gives the rows to show
 */
private final class SystemProcedure(
    override val name: String,
    override val description: String,
    declared: Seq[ProcedureParameter],
    run: (SparkSession, InternalRow) => LocalRows)
    extends UnboundProcedure
    with BoundProcedure {

  override def bind(inputType: StructType): BoundProcedure = this

  override def parameters(): Array[ProcedureParameter] = declared.toArray

  override def isDeterministic: Boolean = false

  override def call(input: InternalRow): JavaIterator[Scan] = {
    Access.requireModify(s"CALL ${SystemCatalog.Name}.${SystemCatalog.Namespace}.$name")
    Collections.singleton[Scan](run(SparkSession.active, input)).iterator
  }
}

/** The procedures of `oap.system`. */
private object SystemProcedures {

  /** How long an executor has to do its part, or a part of it. */
  val Patience: FiniteDuration = 60.seconds

  def all: Seq[SystemProcedure] = Seq(clear, resize, warm) ++ PinProcedures.all

  private val clear = new SystemProcedure(
    "clear",
    "Drops what the column cache holds of a table, of the files under a path, or all of it",
    Seq(
      optional("table", StringType, "a table or view: the files that it reads"),
      optional("path", StringType, "a file or a folder")),
    (session, input) => {
      val what = (text(input, 0), text(input, 1)) match {
        case (None, None) => None
        case (Some(table), None) =>
          Some(FilePaths.of(session, FilePaths.tables(session, table)))
        case (None, Some(path)) => Some(Seq(FilePaths.ofPath(session, path)))
        case _ =>
          throw StatusException.invalidArgument("clear", "path", "give a table or a path, not both")
      }
      // All of them, also where a table is named: they cost little to build again.
      BuildSides.of(session.sparkContext).clear()
      val answers = what match {
        case None => Cluster.of(session.sparkContext).ask(Clear(None), Patience)
        case Some(paths) => askAbout(session, paths)(some => Clear(Some(some)))(_ + _)
      }
      // Nothing was done then, so this comes before nothing.
      if (answers.forall(_.value.forall(_.chunks == 0))) {
        text(input, 1).foreach(FilePaths.checkHoldsData(session, _))
      }
      byExecutor("clear", answers)(
        SystemColumn("chunks", LongType, "column chunks dropped", of(_)(_.chunks)),
        SystemColumn("bytes", LongType, "their bytes", of(_)(_.bytes)),
        whyNothing
      )
    }
  )

  private val resize = new SystemProcedure(
    "resize",
    "Changes the capacity of the pools of the executors that are there now; bytes for each",
    Seq(ProcedureParameter.in("bytes", LongType).comment("capacity of each pool").build()),
    (session, input) => {
      val bytes = if (input.isNullAt(0)) -1 else input.getLong(0)
      if (bytes < OapConfig.LEAST_POOL_SIZE) {
        throw StatusException.invalidArgument(
          "resize",
          "bytes",
          s"expected at least ${OapConfig.LEAST_POOL_SIZE}, a number of bytes")
      }
      val answers = Cluster.of(session.sparkContext).resize(bytes, Patience)
      val refusals = answers.filterNot(_.hasNoPool).map(why(_)(_.why))
      if (refusals.nonEmpty && refusals.size == answers.size && refusals.forall(_.isDefined)) {
        throw StatusException.refused("resize", refusals.head.get)
      }
      byExecutor("resize", answers)(
        SystemColumn(
          "capacity_bytes",
          LongType,
          "capacity of its pool now",
          of(_)(_.capacityBytes.map(Long.box).orNull)),
        SystemColumn(
          "why",
          StringType,
          "why it is as before",
          answer =>
            if (answer.hasNoPool) s"${answer.why.get}; its pool gets this capacity when one does"
            else why(answer)(_.why).orNull
        ),
        SystemColumn(
          "warning",
          StringType,
          "what to do if the memory of its process is too small",
          of(_)(_.warning.orNull))
      )
    }
  )

  private val warm = new SystemProcedure(
    "warm",
    "Loads what a query would read of a table into the pools, where queries will look for it",
    Seq(
      ProcedureParameter.in("table", StringType).comment("a table or view").build(),
      optional("columns", ArrayType(StringType), "its columns, all if there are none"),
      optional("filter", StringType, "a condition, as in WHERE")
    ),
    (session, input) => {
      val table = text(input, 0).getOrElse(
        throw StatusException.invalidArgument("warm", "table", "expected a table"))
      val warmed = Warming.table(session, table, names("warm", input, 1), text(input, 2))
      LocalRows.of("warm", Warming.columns, () => warmed)
    }
  )

  /**
   * Has all executors answer a request about paths: about some after the others, where there are
   * many.
   *
   * @param sum of an executor's answers
   */
  def askAbout[A](session: SparkSession, paths: Seq[String])(
      request: Seq[String] => ExecutorRequest[A])(sum: (A, A) => A): Seq[Answer[A]] = {
    val requests = PathSlices.of(paths).map(request)
    Cluster.of(session.sparkContext)
      .askInParts(Patience, _ => requests.size)(part => requests(part.number))
      .map(_.map(_.reduce(sum)))
  }

  /** A row for each executor: its id and these columns. */
  def byExecutor[A](procedure: String, answers: Seq[Answer[A]])(
      columns: SystemColumn[Answer[A]]*): LocalRows = {
    val id =
      SystemColumn[Answer[A]]("executor_id", StringType, "Spark's id of the executor", _.executor)
    LocalRows.of(procedure, id +: columns, () => answers)
  }

  /** The last column, where an executor does all it is asked for or gives no answer. */
  def whyNothing[A]: SystemColumn[Answer[A]] =
    SystemColumn("why", StringType, "why nothing was done", _.why.orNull)

  /** A value of an executor's answer; null where there is none. */
  def of[A](answer: Answer[A])(value: A => Any): Any = answer.value.fold[Any](null)(value)

  /** Why an executor has not done all, by its answer or because there is none. */
  def why[A](answer: Answer[A])(value: A => Option[String]): Option[String] =
    answer.value.fold(answer.why)(value)

  def optional(name: String, dataType: DataType, comment: String): ProcedureParameter =
    ProcedureParameter.in(name, dataType).defaultValue("NULL").comment(comment).build()

  /** An array of names; nothing where it is NULL. */
  def names(procedure: String, input: InternalRow, index: Int): Option[Seq[String]] =
    if (input.isNullAt(index)) None
    else {
      val names = input.getArray(index).toObjectArray(StringType).toSeq.map(String.valueOf(_))
      if (names.isEmpty) {
        throw StatusException.invalidArgument(procedure, "columns", "expected at least one column")
      }
      Some(names)
    }

  def text(input: InternalRow, index: Int): Option[String] =
    if (input.isNullAt(index)) None else Some(input.getUTF8String(index).toString)
}
