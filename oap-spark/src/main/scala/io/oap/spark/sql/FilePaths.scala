package io.oap.spark.sql

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, UnsupportedFileSystemException}
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.oap.spark.table.Folders

/** Turns what users name into paths as the executors know them: fully qualified. */
private object FilePaths {

  /**
   * The tables that stand behind a name: one, or all that a view reads.
   *
   * @throws org.apache.spark.sql.AnalysisException when there is no such table, or one of a kind
   *     that the cache does not serve
   */
  def tables(session: SparkSession, table: String): Seq[ServedTable] =
    tables(
      table,
      FileChecks.lookingAt(table)(session.table(table).queryExecution.analyzed))

  /** Finds the tables that a plan reads, for a table of this name. */
  def tables(table: String, analyzed: LogicalPlan): Seq[ServedTable] = {
    val found = analyzed.collectLeaves().map(ServedTable.of)
    found.collectFirst { case Left(why) => throw StatusException.unsupportedTable(table, why) }
    found.collect { case Right(one) => one }
  }

  /** The folders and files in which tables lie. */
  def of(session: SparkSession, tables: Seq[ServedTable]): Seq[String] = {
    val conf = hadoopConf(session)
    withoutNested(tables.flatMap { one =>
      // What Iceberg calls a file it may read by other means than Hadoop's.
      if (one.areQualified) one.paths()
      else one.paths().map(path => qualified(new Path(path), conf))
    }.distinct)
  }

  /**
   * A path as the user wrote it. There may be nothing, or nothing any more.
   *
   * @throws org.apache.spark.sql.AnalysisException when it is empty, or none of a file system that
   *     is set up, or the user may not look there
   */
  def ofPath(session: SparkSession, path: String): String = {
    if (path.trim.isEmpty) {
      throw StatusException.pathNotFound(path)
    }
    try {
      val conf = hadoopConf(session)
      FileChecks.isThere(path, conf)
      qualified(new Path(path), conf)
    } catch {
      case e @ (_: IllegalArgumentException | _: UnsupportedFileSystemException) =>
        throw StatusException.invalidArgument(
          "clear",
          "path",
          s"expected a path of a file system that is set up, not '$path' (${e.getMessage})")
    }
  }

  /**
   * Finds fault with a path of which nothing is cached.
   *
   * @throws org.apache.spark.sql.AnalysisException when there is nothing, or no Parquet or ORC file
   */
  def checkHoldsData(session: SparkSession, path: String): Unit = {
    val conf = hadoopConf(session)
    if (!FileChecks.isThere(path, conf)) {
      throw StatusException.pathNotFound(path)
    }
    if (!FileChecks.holdsData(path, conf)) {
      throw StatusException.noDataFiles(path)
    }
  }

  /** Leaves out what lies in a folder that is among them. */
  private def withoutNested(paths: Seq[String]): Seq[String] = {
    val all = paths.toSet
    paths.filterNot { path =>
      Folders.upFrom(new Path(path)).drop(1).exists(folder => all(folder.toString))
    }
  }

  private def qualified(path: Path, conf: Configuration): String =
    path.getFileSystem(conf).makeQualified(path).toString

  private def hadoopConf(session: SparkSession) =
    session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()
}
