package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{ContentFile, Snapshot, Table => IcebergTable}
import org.apache.spark.sql.catalyst.util.quoteIfNeeded

import io.oap.spark.directory.{FileChanges, FollowedTable, TableState}
import io.oap.spark.table.PinnedColumns

/**
 * A table of Iceberg, whose states are the snapshots of its main branch. Their order is when they
 * became current: after a rollback that is not the order of the snapshots.
 *
 * @param pinned columns as queries name them
 */
private[iceberg] final class FollowedIcebergTable(
    table: IcebergTable,
    override val name: Option[String],
    override val pinned: Option[PinnedColumns],
    current: Snapshot)
    extends FollowedTable {

  override def key: String = table.location

  override val state: TableState = TableState(
    current.snapshotId,
    table.history.asScala.lastOption.fold(current.timestampMillis)(_.timestampMillis))

  /** Nothing where the table did not come to its state from that one, or in too many steps. */
  override def changesSince(former: TableState): FileChanges = {
    val steps = Iterator.iterate(current)(parentOf).takeWhile(one =>
      one != null && one.snapshotId != former.id).take(FollowedTable.MostSteps + 1).toSeq
    val last = steps.lastOption.flatMap(one => Option(one.parentId))
    if (steps.size > FollowedTable.MostSteps || !last.exists(_.longValue == former.id))
      FileChanges(Set.empty, Set.empty)
    else {
      // From the first step on: a file that is gone may have been added again.
      steps.reverseIterator.map(new StepChanges(table, _))
        .foldLeft(FileChanges(Set.empty, Set.empty))(after)
    }
  }

  private def after(before: FileChanges, step: StepChanges): FileChanges = {
    val gone = step.few("deleted-data-files", "removedDataFiles") ++
      step.few("removed-delete-files", "removedDeleteFiles")
    val added =
      if (pinned.isEmpty && before.gone.isEmpty) Nil
      else step.few("added-data-files", "addedDataFiles")
    FileChanges(before.gone -- added ++ gone, before.added ++ added -- gone)
  }

  private def parentOf(one: Snapshot): Snapshot =
    if (one.parentId == null) null else table.snapshot(one.parentId)
}

/**
 * What a step of a table has changed, by Iceberg's `SnapshotChanges`, which is not in its API module.
 * That reads manifests once for all that is asked of it.
 */
private final class StepChanges(table: IcebergTable, step: Snapshot) {
  private lazy val kinds = Class.forName(
    "org.apache.iceberg.SnapshotChanges",
    true,
    table.getClass.getClassLoader)

  private lazy val changes = {
    val builder = kinds.getMethod("builderFor", classOf[IcebergTable]).invoke(null, table)
    builder.getClass.getMethod("snapshot", classOf[Snapshot]).invoke(builder, step)
    builder.getClass.getMethod("build").invoke(builder)
  }

  /**
   * Paths of files; none where the step's summary says that there are none, or too many.
   *
   * @param count as the summary calls how many they are
   * @param kind as the method is called that gives them
   */
  def few(count: String, kind: String): Seq[String] =
    step.summary.asScala.get(count).map(_.toLong) match {
      case Some(some) if some > 0 && some <= FollowedTable.MostFiles =>
        kinds.getMethod(kind).invoke(changes).asInstanceOf[java.lang.Iterable[ContentFile[_]]]
          .asScala.iterator.map(_.location).toSeq
      case _ => Nil
    }
}

private[iceberg] object FollowedIcebergTable {

  /** A table as a query has found it; nothing where it has no snapshot yet. */
  def of(
      table: org.apache.spark.sql.connector.catalog.Table,
      pinned: Option[PinnedColumns]): Option[FollowedTable] = {
    val iceberg = IcebergTables.ofIceberg(table).asInstanceOf[IcebergTable]
    // A table that is only a path has no name that a catalog knows.
    val name = Some(table.name).filterNot(_.contains("/"))
      .map(_.split('.').map(quoteIfNeeded).mkString("."))
    Option(iceberg.currentSnapshot).map(new FollowedIcebergTable(iceberg, name, pinned, _))
  }
}
