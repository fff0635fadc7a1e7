package io.oap.spark.sql

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{classic, DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._

import io.oap.cache.stats.Figure
import io.oap.spark.cluster.Cluster
import io.oap.spark.executor.{Pin, Unpin, Verify}
import io.oap.spark.table.{PinnedColumns, PinnedTables}

/** The procedures of `oap.system` on what the pools hold already: pin, unpin and verify. */
private object PinProcedures {
  import SystemProcedures.{askAbout, byExecutor, of, optional, why, whyNothing, Patience}

  /** Far less than an executor reads in the time it has for an answer. */
  private val BytesVerifiedAtATime = 4L << 30

  def all: Seq[SystemProcedure] = Seq(pin, unpin, verify)

  private val parameters = Seq(
    ProcedureParameter.in("table", StringType).comment("a table or view").build(),
    optional("columns", ArrayType(StringType), "its columns, all if there are none")
  )

  private val pin = new SystemProcedure(
    "pin",
    "Keeps the chunks of a table in the pools, those that are there and those that will come",
    parameters,
    (session, input) => {
      val which = Pinning.of("pin", session, input)
      PinnedTables.of(session.sparkContext).pin(which.scanned, which.columns)
      val answers = askAbout(session, which.paths)(Pin(_, which.inFiles))(_ + _)
      byExecutor("pin", answers)(
        SystemColumn("chunks", LongType, "column chunks that are pinned now", of(_)(_.chunks)),
        SystemColumn("bytes", LongType, "their bytes", of(_)(_.bytes)),
        SystemColumn("refused_chunks", LongType, "those that are not", of(_)(_.refusedChunks)),
        SystemColumn("refused_bytes", LongType, "their bytes", of(_)(_.refusedBytes)),
        SystemColumn("why", StringType, "why not", why(_)(_.why).orNull)
      )
    }
  )

  private val unpin = new SystemProcedure(
    "unpin",
    "Lets the chunks of a pinned table go like those of others",
    parameters,
    (session, input) => {
      val which = Pinning.of("unpin", session, input)
      if (which.isByProperty) throw StatusException.pinnedByProperty(which.table)
      PinnedTables.of(session.sparkContext).unpin(which.scanned, which.columns, which.all)
      val answers = askAbout(session, which.paths)(Unpin(_, which.inFiles))(_ + _)
      byExecutor("unpin", answers)(
        SystemColumn("chunks", LongType, "column chunks that were pinned", of(_)(_.chunks)),
        SystemColumn("bytes", LongType, "their bytes", of(_)(_.bytes)),
        whyNothing
      )
    }
  )

  private val verify = new SystemProcedure(
    "verify",
    "Compares all chunks with the checksums they were loaded with, and drops those that differ",
    Nil,
    (session, _) => {
      val answers = Cluster.of(session.sparkContext).askInParts(
        Patience,
        report => 1 + (report.figures.get(Figure.USED_BYTES) / BytesVerifiedAtATime).toInt)(
        Verify(_)).map(_.map(_.reduce(_ + _)))
      byExecutor("verify", answers)(
        SystemColumn("chunks", LongType, "column chunks that were read", of(_)(_.chunks)),
        SystemColumn("bytes", LongType, "their bytes", of(_)(_.bytes)),
        SystemColumn(
          "damaged_chunks",
          LongType,
          "those of them that had changed, and were dropped",
          of(_)(_.damagedChunks)),
        SystemColumn("damaged_bytes", LongType, "their bytes", of(_)(_.damagedBytes)),
        whyNothing
      )
    }
  )
}

/**
 * What is to be pinned, or not any more.
 *
 * @param paths where the table lies, as its files are called
 * @param columns as queries name them
 * @param inFiles as the files name them
 * @param all all columns of the table, in lower case
 * @param isByProperty whether the table says of itself that it is pinned
 */
private final case class Pinning(
    table: String,
    paths: Seq[String],
    columns: PinnedColumns,
    inFiles: PinnedColumns,
    all: Set[String],
    isByProperty: Boolean) {

  /** Where the table lies, as its scans say it. */
  def scanned: Seq[String] = paths.map(new Path(_).toString)
}

private object Pinning {

  /**
   * By the arguments table and columns of a procedure.
   *
   * @throws org.apache.spark.sql.AnalysisException when there is no such table or column, or the
   *     session does not read the table through the cache
   */
  def of(procedure: String, session: SparkSession, input: InternalRow): Pinning = {
    val table = SystemProcedures.text(input, 0).getOrElse(
      throw StatusException.invalidArgument(procedure, "table", "expected a table"))
    val tables = FilePaths.tables(session, table)
    val whole = session.table(table)
    def scansOf(query: DataFrame) = PlannedScan.of(
      session,
      table,
      tables,
      query.asInstanceOf[classic.Dataset[_]].queryExecution.executedPlan)
    val scans = scansOf(whole)
    // Columns of the tables, not of a view over them.
    val columns = SystemProcedures.names(procedure, input, 1).fold(PinnedColumns.All) { names =>
      PinnedColumns.of(scansOf(whole.select(names.map(col(_)): _*)).flatMap(_.columns))
    }
    Pinning(
      table,
      FilePaths.of(session, tables),
      columns,
      scans.map(_.inFiles(columns)).reduceOption(_ ++ _).getOrElse(columns),
      PinnedColumns.of(scans.flatMap(_.columns)).names.get,
      tables.exists(_.isPinned)
    )
  }
}
