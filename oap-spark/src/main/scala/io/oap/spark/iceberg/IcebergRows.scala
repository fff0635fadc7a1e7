package io.oap.spark.iceberg

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{DeleteFile, FileScanTask, Table => IcebergTable}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.connector.read.{InputPartition, Scan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * What the tasks of a scan of Iceberg are told to read, and so all that decides about its rows: data
 * files and delete files do not change while a table has them. A snapshot or a branch is only a way to
 * such splits.
 *
 * @param table its UUID: a table that is made anew at one place has another one, and numbers of
 *     columns and partition specifications mean the same within one table only
 * @param properties of the table, among them the names of columns for files without ids
 * @param projection the columns with their ids, types and defaults
 */
private[spark] final case class IcebergRows(
    table: String,
    properties: Map[String, String],
    projection: Option[String],
    splits: Seq[IcebergSplit])

/**
 * A part of a data file.
 *
 * @param number of the commit that added the file, as [[FileVersions]] takes it
 * @param spec the number of the specification by which its partition is meant
 * @param partition values of the file's partition, which stand for columns
 */
private[spark] final case class IcebergSplit(
    location: String,
    number: Option[Long],
    start: Long,
    length: Long,
    spec: Int,
    partition: Seq[Any],
    deletes: Seq[IcebergDeletes])

/**
 * A file of deleted rows, or a part of one.
 *
 * @param number as that of a split
 * @param columns by whose values rows are deleted; none where it is by place
 */
private[spark] final case class IcebergDeletes(
    location: String,
    number: Option[Long],
    start: Option[Long],
    length: Option[Long],
    columns: Seq[Int])

/** Asked of every scan, so it names no class of Iceberg's: most applications have none of them. */
private[spark] object RowsOfIceberg {

  /** Returns what a scan reads; none of scans that are not Iceberg's, or whose rows have more to them. */
  def of(scan: Scan): Option[IcebergRows] = scan match {
    case cached: CachedIcebergScan => cached.rows
    case _ => None
  }
}

private[iceberg] object IcebergRows extends Logging {

  /** With more of them than that, a table is no small dimension. */
  private val MostSplits = 256

  /**
   * Fails open: a table may have no UUID.
   *
   * @param planned Iceberg's own scan, of a query that reads data files through the cache
   */
  private[iceberg] def of(planned: BatchScanExec, shape: PartitionShape): Option[IcebergRows] =
    try read(planned, shape)
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logDebug("What a scan of an Iceberg table reads cannot be told", e)
        None
    }

  private def read(planned: BatchScanExec, shape: PartitionShape): Option[IcebergRows] = {
    val partitions = planned.inputPartitions
    val groups = partitions.map(shape.taskGroup)
    val splits = groups.flatMap(ServedFiles.splits)
    val isAllSplits = splits.size == groups.iterator.map(_.tasks.size).sum
    val projections = partitions.map(shape.projectionText).distinct
    if (!isAllSplits || splits.size > MostSplits || projections.size > 1 ||
      partitions.headOption.exists(hasReserved(_, shape))) None
    else {
      val table = IcebergTables.ofIceberg(planned.table).asInstanceOf[IcebergTable]
      Some(IcebergRows(
        table.uuid.toString,
        table.properties.asScala.toMap,
        projections.headOption,
        splits.map(split).sortBy(one => (one.location, one.start))
      ))
    }
  }

  private def hasReserved(partition: InputPartition, shape: PartitionShape): Boolean =
    shape.projection(partition).columns.asScala.exists(field =>
      SplitColumns.isReserved(field.fieldId))

  private def split(task: FileScanTask): IcebergSplit = {
    val values = task.file.partition
    IcebergSplit(
      task.file.location,
      FileVersions.number(task.file),
      task.start,
      task.length,
      task.spec.specId,
      (0 until values.size).map(place => settled(values.get(place, classOf[Object]))),
      task.deletes.asScala.iterator.map(deletes).toSeq.sortBy(one => (one.location, one.start))
    )
  }

  private def deletes(file: DeleteFile): IcebergDeletes = IcebergDeletes(
    file.location,
    FileVersions.number(file),
    Option(file.contentOffset).map(_.longValue),
    Option(file.contentSizeInBytes).map(_.longValue),
    Option(file.equalityFieldIds).iterator.flatMap(_.asScala).map(_.intValue).toSeq
  )

  /** Text in one class, whatever it was read as. */
  private def settled(value: Any): Any = value match {
    case text: CharSequence => text.toString
    case other => other
  }
}
