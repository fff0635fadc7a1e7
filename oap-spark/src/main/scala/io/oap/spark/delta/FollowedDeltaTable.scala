package io.oap.spark.delta

import java.io.FileNotFoundException
import java.net.URI

import scala.io.{Codec, Source}
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.execution.datasources.{FileFormat, FileIndex}

import io.oap.spark.directory.{FileChanges, FollowedTable, TableState}
import io.oap.spark.table.PinnedColumns

/**
 * A table of Delta, whose states are the versions of its log. They only grow, and files that left
 * between two former versions have left the current one: a query that travels in time says nothing
 * wrong. Only a table that is made anew at the same path begins at version 0 again. The log's commits are read as Delta's protocol describes them, one object of JSON a line.
 *
 * @param root the table's folder, fully qualified
 * @param made when the table was made, or replaced as a whole, before that version
 */
private[spark] final class FollowedDeltaTable(
    root: Path,
    version: Long,
    made: Long,
    override val name: Option[String],
    override val pinned: Option[PinnedColumns],
    conf: => Configuration)
    extends FollowedTable {
  import FollowedDeltaTable._

  override def key: String = root.toString

  override def state: TableState = TableState(version, version, made)

  /** Nothing where there are too many steps or a commit is not in the log, as when it was cleaned. */
  override def changesSince(former: TableState): FileChanges = {
    val steps = former.id + 1 to version
    try {
      if (steps.size > FollowedTable.MostSteps) Nothing
      else steps.map(changesOf).foldLeft(Nothing)(after)
    } catch { case _: FileNotFoundException => Nothing }
  }

  /** A file that has other deleted rows now leaves and comes in one step: it stays. */
  private def changesOf(step: Long): FileChanges = {
    val commit = new Path(new Path(root, "_delta_log"), f"$step%020d.json")
    val files = commit.getFileSystem(conf)
    if (files.getFileStatus(commit).getLen > MostBytes) Nothing
    else Using.resource(Source.fromInputStream(files.open(commit))(Codec.UTF8)) { source =>
      var gone, added = Set.empty[String]
      for (line <- source.getLines()) {
        val action = Json.readTree(line)
        paths(action, "remove").foreach(gone += _)
        paths(action, "add").foreach(added += _)
      }
      FileChanges(gone -- added, added -- gone)
    }
  }

  private def after(before: FileChanges, step: FileChanges): FileChanges = FileChanges(
    (before.gone ++ step.gone) -- step.added,
    (before.added ++ step.added) -- step.gone)

  /** Relative to the table or not, and encoded as a URI. */
  private def paths(action: JsonNode, kind: String): Option[String] =
    Option(action.path(kind).path("path").textValue).map(path =>
      new Path(root, new Path(new URI(path))).toString)
}

private[spark] object FollowedDeltaTable {

  /**
   * A table of Delta as a query has found it; nothing of another format.
   *
   * @param table the table, where it is one of a catalog
   */
  def of(
      session: SparkSession,
      format: FileFormat,
      files: FileIndex,
      table: Option[CatalogTable],
      pinned: Option[PinnedColumns]): Option[FollowedTable] =
    for (version <- DeltaFormat.version(format, files); root <- files.rootPaths.headOption) yield {
      val name = table.fold(s"delta.${quoteIdentifier(root.toString)}")(_.identifier.quotedString)
      def conf = session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf()
      new FollowedDeltaTable(
        root,
        version,
        DeltaFormat.madeAt(format),
        Some(name),
        pinned,
        conf)
    }

  private val Nothing = FileChanges(Set.empty, Set.empty)
  private val MostBytes = 64L << 20
  private val Json = new ObjectMapper
}
