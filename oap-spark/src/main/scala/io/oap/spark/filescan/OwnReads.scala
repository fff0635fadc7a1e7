package io.oap.spark.filescan

import java.io.Closeable

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.spark.internals.SparkInternals
import io.oap.spark.read.{RowsOfBatches, SplitReaders}
import io.oap.spark.scan.FiltersAbove

/**
 * How the tasks of a V1 scan read files by our own readers, from vector chunks where there are any, in
 * place of Spark's reader.
 */
private[filescan] trait OwnReads extends Serializable {

  /** Whether Spark expects batches, rather than rows. */
  def returnsBatches: Boolean

  /** The readers of one task. */
  def splits(cache: ColumnCache, context: ReadContext): SplitReaders

  /**
   * Opens a part of a file with the readers of its task.
   *
   * @param read the file, for what opens it in another way
   * @throws io.oap.spark.read.UnservedFileException where Spark's reader has to read it
   */
  def batches(
      splits: SplitReaders,
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): PartitionReader[ColumnarBatch]

  /** Opens a part of a file, as [[batches]] does; what is given is to be closed. */
  final def open(
      splits: SplitReaders,
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): Iterator[InternalRow] = {
    val opened = batches(splits, file, read, cache, context)
    val rows = if (returnsBatches) new ReadRows(opened) else new ReadRows(new RowsOfBatches(opened))
    rows.asInstanceOf[Iterator[InternalRow]] // as Spark takes batches for rows
  }

  /**
   * Loads what these readers would read of a part of a file, instead of giving rows.
   *
   * @throws io.oap.spark.read.UnservedFileException where Spark's reader has to do that
   */
  def warm(
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): Unit
}

/**
 * What the plan above a scan goes on to ask of its rows: filters, and joins by their keys.
 *
 * @param countsRows whether a filter counts the rows that it is asked for
 * @param numbersRows whether anything asks for the numbers of rows in their files
 */
private[filescan] final case class AskedAbove(
    filters: FiltersAbove,
    keys: FileJoinKeys,
    countsRows: Boolean,
    numbersRows: Boolean)

/** What Spark asks a format to read for a scan. */
private[filescan] final case class ScanRequest(
    session: SparkSession,
    dataSchema: StructType,
    partitionSchema: StructType,
    requiredSchema: StructType,
    filters: Seq[Filter],
    options: Map[String, String]) {
  def conf: SQLConf = SparkInternals.confOf(session)

  /** Whether Spark expects batches, rather than rows. */
  def returnsBatches: Boolean = options.get(FileFormat.OPTION_RETURNING_BATCH).contains("true")
}

/** What a reader gives, until it is closed. For one thread. */
private final class ReadRows[T <: AnyRef](reader: PartitionReader[T])
    extends Iterator[AnyRef]
    with Closeable {
  private var isAhead = false
  private var isClosed = false

  override def hasNext: Boolean = {
    if (!isAhead && !isClosed) {
      isAhead = reader.next()
      // A task may have many files to read.
      if (!isAhead) close()
    }
    isAhead
  }

  override def next(): AnyRef = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    isAhead = false
    reader.get()
  }

  override def close(): Unit = if (!isClosed) {
    isClosed = true
    isAhead = false
    reader.close()
  }
}
