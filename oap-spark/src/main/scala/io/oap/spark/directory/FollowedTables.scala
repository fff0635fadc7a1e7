package io.oap.spark.directory

import scala.util.control.NonFatal

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession

import io.oap.common.OapConfig
import io.oap.spark.executor.{LeaveFirst, PathSlices}
import io.oap.spark.rpc.Background
import io.oap.spark.table.PinnedColumns

/**
 * A state of a table that keeps its former states, too.
 *
 * @param id names it among the states of the table
 * @param order grows from each current state to the next
 * @param made when the table was made that has the state, where the order begins anew with a table at
 *     the same place
 */
private[spark] final case class TableState(id: Long, order: Long, made: Long = 0)

/**
 * What became of the data files of a table from one state to a later one.
 *
 * @param gone files that the later one has no more
 * @param added files that it did not have before
 */
private[spark] final case class FileChanges(gone: Set[String], added: Set[String])

/** A table that keeps its former states, as a query has found it. */
private[spark] trait FollowedTable {

  /** What tells it from other tables. */
  def key: String

  /** What a query names it by; nothing where none can. */
  def name: Option[String]

  /** Its current state, whichever the query reads. */
  def state: TableState

  /** Which of its columns are pinned, if any are. */
  def pinned: Option[PinnedColumns]

  /** What has changed since it had a former state. May read the table's metadata. */
  def changesSince(former: TableState): FileChanges
}

private[spark] object FollowedTable {

  /** So many steps from state to state, and files of one step, are looked at. */
  val MostSteps = 100
  val MostFiles = 10000
}

/**
 * Follows tables from state to state, as queries find them: has the chunks of files that only former
 * states have leave first, and new files of pinned tables loaded. Chunks of former states would be
 * right still, and serve who reads those; but they would lie in the pools, pinned ones for good.
 *
 * A query that finds a table as it was before costs a look. All else happens in the background, and
 * is left undone while too much of it waits. Thread-safe.
 *
 * @param leave tells all executors which files' chunks leave first, and waits for them
 */
private[spark] final class FollowedTables(leave: LeaveFirst => Unit) extends Logging {
  import FollowedTables._

  private val last: Cache[String, TableState] =
    CacheBuilder.newBuilder().maximumSize(MostTables).build()

  private val worker = Background.thread("oap-followed-tables", MostWaiting)
  private val warmer = Background.thread("oap-warmed-tables", MostWaiting)

  /** Loads new files of a pinned table. */
  @volatile var warm: NewFiles => Unit = _ => ()

  /**
   * Looks whether a table has moved on since a query found it last.
   *
   * @param table nothing where it has no state yet
   */
  def onFound(session: SparkSession, table: => Option[FollowedTable]): Unit =
    if (OapConfig.CACHE_FOLLOW_TABLES.get(session.conf.getOption(_).orNull))
      try table.foreach(look(session, _))
      catch {
        case e @ (NonFatal(_) | _: LinkageError) => logDebug("A table is not followed", e)
      }

  private def look(session: SparkSession, table: FollowedTable): Unit = {
    val now = table.state
    last.asMap.compute(
      table.key,
      (_, before) =>
        if (before != null && before.order >= now.order && before.made >= now.made) before
        else {
          if (before != null && before.id != now.id)
            worker.execute(() => tryFollow(session, table, before))
          now
        }
    ): Unit
  }

  private def tryFollow(session: SparkSession, table: FollowedTable, before: TableState): Unit =
    try {
      val changes = table.changesSince(before)
      if (changes.gone.nonEmpty)
        PathSlices.of(changes.gone).foreach(some => leave(LeaveFirst(some.toSet)))
      for (columns <- table.pinned; name <- table.name if changes.added.nonEmpty)
        warmer.execute(() => tryWarm(NewFiles(session, name, columns, changes.added)))
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug(s"Chunks of former states of ${table.key} leave as others do", e)
    }

  private def tryWarm(files: NewFiles): Unit =
    try warm(files)
    catch {
      case NonFatal(e) =>
        logInfo(s"New files of the pinned table ${files.table} are not loaded: ${e.getMessage}")
    }
}

private[spark] object FollowedTables {
  private val MostTables = 10000
  private val MostWaiting = 100
}

/**
 * Files that a pinned table did not have before.
 *
 * @param session has found them
 * @param table as a query names it
 */
private[spark] final case class NewFiles(
    session: SparkSession,
    table: String,
    columns: PinnedColumns,
    files: Set[String])
