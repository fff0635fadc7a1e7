package io.oap.spark.directory

import java.io.FileNotFoundException
import java.time.Duration
import java.util.Locale

import scala.collection.mutable
import scala.util.control.NonFatal

import com.google.common.base.Ticker
import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, Command, LogicalPlan}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.command.{
  AlterTableAddPartitionCommand,
  AlterTableSetPropertiesCommand,
  AnalyzeColumnCommand,
  AnalyzePartitionCommand,
  AnalyzeTableCommand
}
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand

import io.oap.common.FileIdentity
import io.oap.spark.executor.ForgetFiles
import io.oap.spark.rpc.Background

/**
 * Notices commands of any session that change a table (DROP, TRUNCATE, INSERT OVERWRITE, ALTER ...)
 * and has the executors drop the chunks of files that are gone. Without it those would be right
 * still, since nobody asks for them, but lie in the pools until others push them out.
 *
 * Of a command it counts which tables and paths it names: once it has ended, their folders are
 * listed, and what executors know and is not found there is forgotten. Commands that say of
 * themselves that they only add, as INSERT INTO does, are passed over. All of it happens on one
 * thread in the background; while it is behind, further commands are let go.
 *
 * What other applications remove it notices for pinned tables only, whose chunks nobody pushes out:
 * once an hour, when a query reads one.
 *
 * @param known asks executors which files under a path they know, by `FileIdentity.placementKey`
 * @param forget tells an executor that some of these are gone
 */
private[spark] final class RemovedFiles(
    known: String => Seq[(String, Array[Long])],
    forget: (String, ForgetFiles) => Unit,
    clock: Ticker = Ticker.systemTicker)
    extends Logging {
  import RemovedFiles._

  /** Folders of the tables that queries have read; a table that is dropped cannot be asked. */
  private val folders: Cache[String, String] =
    CacheBuilder.newBuilder().maximumSize(MostTables).build()

  /** Paths of pinned tables that were looked into lately. */
  private val looked: Cache[String, java.lang.Boolean] = CacheBuilder.newBuilder()
    .maximumSize(MostTables).expireAfterWrite(PinnedEvery).ticker(clock).build()

  private val worker = Background.thread("oap-removed-files", MostWaiting)

  /** Remembers where the files of a table lie. */
  def tableIsRead(table: CatalogTable): Unit = {
    val name = table.identifier.database.toSeq :+ table.identifier.table
    locationOf(table).foreach(folders.put(key(name), _))
  }

  /** Looks for removed files of a table whose chunks stay, unless it has done so within the hour. */
  def pinnedIsRead(session: SparkSession, paths: Seq[Path]): Unit = {
    val due = paths.map(_.toString).filter(looked.asMap.putIfAbsent(_, true) == null)
    look(session, due)
  }

  /** Looks for removed files after a query that was a command. */
  def executionEnded(execution: QueryExecution): Unit = {
    val paths = (commandsOf(execution.analyzed) ++ commandsOf(execution.logical))
      .flatMap(named)
      .distinct
    look(execution.sparkSession, paths)
  }

  /** Looks for removed files, soon. */
  private def look(session: SparkSession, paths: Seq[String]): Unit = if (paths.nonEmpty) {
    val conf = session.sessionState.newHadoopConf()
    paths.foreach(path => worker.execute(() => tryForget(path, conf)))
  }

  private def commandsOf(plan: LogicalPlan): Seq[Command] = plan.collect {
    case command: Command if command.output.isEmpty && !leavesFiles(command) => command
  }

  /** Whether a command removes no file: it writes beside those there are, or no files at all. */
  private def leavesFiles(command: Command): Boolean = command match {
    case _: AnalyzeTableCommand | _: AnalyzeColumnCommand | _: AnalyzePartitionCommand => true
    case _: AlterTableAddPartitionCommand | _: AlterTableSetPropertiesCommand => true
    case _: AppendData => true
    case fields: Product =>
      fields.productElementNames.zip(fields.productIterator).exists {
        case ("mode", mode: SaveMode) => mode != SaveMode.Overwrite
        case ("overwrite" | "isOverwrite", overwrites: Boolean) => !overwrites
        case _ => false
      }
    case _ => false
  }

  private def named(command: Command): Seq[String] = command match {
    case insert: InsertIntoHadoopFsRelationCommand => Seq(partitionOf(insert))
    case _ =>
      (command +: command.children).collect { case node: Product => node }
        .flatMap(_.productIterator.flatMap(folder))
  }

  /** The folder that an INSERT OVERWRITE replaces, as far as it names values of partitions. */
  private def partitionOf(insert: InsertIntoHadoopFsRelationCommand): String =
    insert.partitionColumns.map(_.name).map(name => name -> insert.staticPartitions.get(name))
      .takeWhile(_._2.isDefined)
      .foldLeft(insert.outputPath) { case (parent, (name, value)) =>
        new Path(parent, ExternalCatalogUtils.getPartitionPathString(name, value.get))
      }
      .toString

  private def folder(part: Any): Option[String] = part match {
    case path: Path => Some(path.toString)
    case table: CatalogTable => locationOf(table)
    case name: TableIdentifier => folderOf(name.database.toSeq :+ name.table)
    case name: Identifier => folderOf(name.namespace.toSeq :+ name.name)
    case _ => None
  }

  /** As files below are called: a URI writes a blank and others otherwise. */
  private def locationOf(table: CatalogTable): Option[String] =
    table.storage.locationUri.map(new Path(_).toString)

  private def folderOf(name: Seq[String]): Option[String] = Option(folders.getIfPresent(key(name)))

  private def key(name: Seq[String]): String = name.mkString(".").toLowerCase(Locale.ROOT)

  private def tryForget(path: String, conf: Configuration): Unit =
    try forgetRemoved(path, conf)
    catch {
      case NonFatal(e) => logDebug(s"Chunks of removed files under $path stay for a while", e)
    }

  /** Has what is gone under a path forgotten. */
  private[directory] def forgetRemoved(path: String, conf: Configuration): Unit = {
    val folder = new Path(path)
    val files = folder.getFileSystem(conf)
    val qualified = files.makeQualified(folder)
    // Before the listing: what an executor learns of later may be newer than that.
    val held = known(qualified.toString).filter(_._2.nonEmpty)
    if (held.nonEmpty) {
      val gone = mutable.LongMap.empty[Unit]
      def addAll(): Unit = held.foreach(_._2.foreach(gone.update(_, ())))
      addAll()
      try {
        val there = files.listFiles(qualified, true)
        while (there.hasNext) gone -= keyOf(there.next())
      } catch {
        // A folder below may be the one that has gone, such as that of a query that is writing.
        case _: FileNotFoundException if !files.exists(qualified) => addAll()
      }
      for ((executor, keys) <- held) {
        val some = keys.filter(gone.contains)
        if (some.nonEmpty) forget(executor, ForgetFiles(qualified.toString, some))
      }
    }
  }

  private def keyOf(status: FileStatus): Long =
    FileIdentity.placementKey(
      status.getPath.toString,
      status.getLen,
      status.getModificationTime)
}

private[spark] object RemovedFiles {
  private val MostTables = 10000
  private val MostWaiting = 100
  private val PinnedEvery = Duration.ofHours(1)
}
