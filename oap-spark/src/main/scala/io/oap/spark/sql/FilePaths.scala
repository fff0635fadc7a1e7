package io.oap.spark.sql

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetTable

import io.oap.spark.scan.CatalogPartitions
import io.oap.spark.table.Folders

/** Turns what users name into paths as the executors know them: fully qualified. */
private object FilePaths {

  /**
   * The folders and files in which a table lies, or all tables that a view reads.
   *
   * @throws org.apache.spark.sql.AnalysisException when there is no such table, or one that has
   *     other than Parquet files
   */
  def ofTable(session: SparkSession, table: String): Seq[String] =
    ofPlan(
      session,
      table,
      FileChecks.lookingAt(table)(session.table(table).queryExecution.analyzed))

  /** Finds the folders and files that a plan reads, for a table of this name. */
  def ofPlan(session: SparkSession, table: String, analyzed: LogicalPlan): Seq[String] = {
    val roots = analyzed.collectLeaves().map(paths)
    if (roots.isEmpty || roots.exists(_.isEmpty)) {
      throw StatusException.notParquet(table)
    }
    withoutNested(roots.flatten.flatten.map(qualified(session, _)).distinct)
  }

  /**
   * A path as the user wrote it. There may be nothing, or nothing any more.
   *
   * @throws org.apache.spark.sql.AnalysisException when it is empty, or the user may not look there
   */
  def ofPath(session: SparkSession, path: String): String = {
    if (path.trim.isEmpty) {
      throw StatusException.pathNotFound(path)
    }
    FileChecks.isThere(path, hadoopConf(session))
    qualified(session, new Path(path))
  }

  /**
   * Finds fault with a path of which nothing is cached.
   *
   * @throws org.apache.spark.sql.AnalysisException when there is nothing, or no Parquet file
   */
  def checkHoldsParquet(session: SparkSession, path: String): Unit = {
    val conf = hadoopConf(session)
    if (!FileChecks.isThere(path, conf)) {
      throw StatusException.pathNotFound(path)
    }
    if (!FileChecks.holdsParquet(path, conf)) {
      throw StatusException.noParquetFiles(path)
    }
  }

  /** Where a relation of Parquet files lies; nothing for other relations. */
  private def paths(relation: LogicalPlan): Option[Seq[Path]] = relation match {
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _)
        if files.fileFormat.isInstanceOf[ParquetFileFormat] =>
      files.location match {
        // Partitions may lie elsewhere than their table.
        case index: CatalogFileIndex =>
          Some(index.rootPaths ++ index.filterPartitions(Nil).rootPaths)
        case index => Some(index.rootPaths)
      }
    case DataSourceV2Relation(table: ParquetTable, _, _, _, _, _) =>
      table.fileIndex match {
        case partitions: CatalogPartitions =>
          Some(partitions.rootPaths ++ partitions.shown.rootPaths)
        case index => Some(index.rootPaths)
      }
    case _ => None
  }

  /** Leaves out what lies in a folder that is among them. */
  private def withoutNested(paths: Seq[String]): Seq[String] = {
    val all = paths.toSet
    paths.filterNot { path =>
      Folders.upFrom(new Path(path)).drop(1).exists(folder => all(folder.toString))
    }
  }

  private def qualified(session: SparkSession, path: Path): String =
    path.getFileSystem(hadoopConf(session)).makeQualified(path).toString

  private def hadoopConf(session: SparkSession) =
    session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()
}
