package io.oap.spark.iceberg

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.iceberg.{FileScanTask, Schema}
import org.apache.iceberg.io.FileIO
import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.spark.read._
import io.oap.spark.vector.DeletedPositions

/**
 * Opens the splits of one task that our own readers read exactly as Iceberg's would: of flat
 * columns that the file has, by their ids and in their types, without those rows that are deleted by
 * their positions. For one thread, but it may be closed by another.
 *
 * @param projection what Iceberg reads
 * @param versions of the table's files
 * @param real Iceberg's own way to the files
 * @param loader loads what is deleted of them; asked for where something is
 * @param conditions on rows and row groups
 */
private[iceberg] final class FlatSplits(
    reads: FlatReads,
    projection: Schema,
    versions: FileVersions,
    real: FileIO,
    loader: => PositionDeletes,
    conditions: ScanConditions,
    cache: ColumnCache,
    context: ReadContext)
    extends AutoCloseable
    with Logging {

  private lazy val deletes = loader

  // By partition specification.
  private val columnsBySpec = mutable.Map.empty[Int, Option[SplitColumns]]
  private val readersBySpec = mutable.Map.empty[Int, SplitReaders]

  /** Whether a split may be read here, as far as its manifest tells. */
  def mayRead(split: FileScanTask): Boolean =
    ServedFiles.isServed(split) && PositionDeletes.areAllOf(split) && columnsOf(split).isDefined

  /**
   * Opens a split and goes to its first batch. None where Iceberg's reader has to read it. That one
   * also meets the faults of files, as long as no row was handed over: it says what users know.
   */
  def open(split: FileScanTask): Option[PartitionReader[ColumnarBatch]] =
    for {
      columns <- columnsOf(split)
      values <- columns.values(split)
      reader <- begun(split, columns, values)
    } yield reader

  /** Loads what a split has to read here; false where Iceberg's reader has to read it. */
  def warm(split: FileScanTask): Boolean =
    mayRead(split) && columnsOf(split).exists { columns =>
      val chunks =
        new ChunkWarming(
          contentOf(columns),
          reads.settings,
          onData(conditions.runtime, columns.data),
          cache,
          context)
      orNone(split) {
        chunks.warm(partOf(split, InternalRow.empty), fileOf(split, columns))
        deletedOf(split): Unit // reads the delete files
        true
      }.isDefined
    }

  private def begun(
      split: FileScanTask,
      columns: SplitColumns,
      values: InternalRow): Option[PartitionReader[ColumnarBatch]] = {
    var reader: PartitionReader[ColumnarBatch] = null
    val begun = orNone(split) {
      val file = fileOf(split, columns)
      reader = readersOf(split, columns).openBatches(partOf(split, values), file)
      new BegunReader(reader, reader.next(), columns, file.positions)
    }
    if (begun.isEmpty && reader != null) reader.close()
    begun
  }

  /** None where that fails, unless the task is to end. */
  private def orNone[A](split: FileScanTask)(read: => A): Option[A] =
    try Some(read)
    catch {
      case e @ (NonFatal(_) | _: LinkageError)
          if !Option(TaskContext.get()).exists(_.isInterrupted()) =>
        logDebug(s"Iceberg's reader reads ${split.file.location}", e)
        None
    }

  private def partOf(split: FileScanTask, values: InternalRow): PartitionedFile = PartitionedFile(
    values,
    SparkPath.fromPath(IcebergSplitFile.shownPath(split)),
    split.start,
    split.length)

  private def fileOf(split: FileScanTask, columns: SplitColumns): IcebergSplitFile =
    new IcebergSplitFile(
      real.newInputFile(split.file.location, split.file.fileSizeInBytes),
      split,
      versions.of(split.file),
      columns,
      deletedOf(split),
      reads.hadoopConf.value.value
    )

  private def deletedOf(split: FileScanTask): DeletedPositions =
    if (split.deletes.isEmpty) DeletedPositions.None else deletes.of(split)

  private def columnsOf(split: FileScanTask): Option[SplitColumns] =
    columnsBySpec.getOrElseUpdate(
      split.spec.specId,
      SplitColumns.of(projection, reads.readSchema, split.spec))

  private def readersOf(split: FileScanTask, columns: SplitColumns): SplitReaders =
    readersBySpec.getOrElseUpdate(
      split.spec.specId,
      new SplitReaders(
        contentOf(columns),
        reads.settings,
        conditions.copy(runtime = onData(conditions.runtime, columns.data)),
        cache,
        context))

  private def contentOf(columns: SplitColumns): SplitContent = SplitContent(
    columns.data,
    columns.constants,
    onData(reads.filters, columns.data),
    reads.hadoopConf.value.value)

  private def onData(filters: Array[Filter], data: StructType): Array[Filter] = {
    val names = data.fieldNames.toSet
    filters.filter(_.references.forall(names))
  }

  override def close(): Unit = readersBySpec.values.foreach(_.close())
}

/**
 * The batches of a split, from the first one on, with their columns in the order of the scan.
 *
 * @param hasFirst whether there is a first one
 * @param deleted rows of the file that the reader leaves out
 */
private final class BegunReader(
    reader: PartitionReader[ColumnarBatch],
    hasFirst: Boolean,
    columns: SplitColumns,
    deleted: DeletedPositions)
    extends PartitionReader[ColumnarBatch] {

  private var isFirst = true
  private val inOrder = new DerivedBatch(batch =>
    new ColumnarBatch(columns.order.map(batch.column(_): ColumnVector).toArray))

  override def next(): Boolean =
    if (isFirst) {
      isFirst = false
      hasFirst
    } else reader.next()

  override def get(): ColumnarBatch =
    if (columns.isInOrder) reader.get() else inOrder.of(reader.get())

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    Array(SplitBySplitReader.deletes(deleted.applied))

  override def close(): Unit = reader.close()
}
