package io.oap.spark.read

import org.apache.spark.SparkException
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.vector.VectorChunk
import io.oap.spark.filter.{DecodedFilters, PinnedZones, ZonePosition}
import io.oap.spark.vector.{Promotion, RowGroupDeletes, RowSelection, ScanVector, SelectedVector}

/** Rows of one row group, a batch at a time. For one thread. */
private[spark] trait RowGroupBatches extends AutoCloseable {

  /** Fills the next batch; false when there is none. */
  def next(): Boolean

  /** The batch, to be looked at until the next call of [[next]] or [[close]]. */
  def batch: ColumnarBatch

  /** Drops the chunks of the row group that are damaged in the pool; they are read on as they are. */
  def dropDamaged(): Unit
}

/**
 * Rows as Spark's reader decodes them: those that meet the conditions, batch by batch, or all of a
 * batch where nearly all meet them.
 *
 * @param decoded all rows of a row group where some are deleted: the reader must pass over no page
 * @param dataColumns of the batches; behind them stand columns of partitions
 */
private[spark] final class DecodedRows(
    decoded: DecodedBatches,
    promotion: Promotion,
    filters: DecodedFilters,
    deleted: RowGroupDeletes,
    selection: => RowSelection,
    dataColumns: Int,
    counters: CacheCounters)
    extends RowGroupBatches {

  private val selected = new SelectedRows(dataColumns, selection)
  private var rows = 0L // of the batches before
  private var current: ColumnarBatch = _

  override def batch: ColumnarBatch = current

  override def dropDamaged(): Unit = decoded.dropDamaged()

  override def next(): Boolean = {
    var found = advance()
    while (found && current.numRows == 0) {
      found = advance()
    }
    found
  }

  private def advance(): Boolean = {
    val found = decoded.next()
    current = decoded.batch
    if (found) {
      promotion.add(current)
      if (!filters.isEmpty || !deleted.isEmpty) select(current)
    }
    found
  }

  private def select(whole: ColumnarBatch): Unit = {
    selection.reset(whole.numRows)
    filters.narrow(selection, whole)
    val dropped = whole.numRows - selection.count
    if (dropped > whole.numRows / DecodedFilters.NearlyAll)
      counters.add(Figure.ROWS_DROPPED, dropped)
    else selection.reset(whole.numRows)
    deleted.leaveOut(selection, rows, whole.numRows)
    current = selected.of(whole)
    rows += whole.numRows
  }

  override def close(): Unit =
    try promotion.close()
    finally decoded.close()
}

/**
 * The rows of batches that are selected; columns of partitions have one value for all rows.
 *
 * @param dataColumns of the batches; behind them stand columns of partitions
 */
private final class SelectedRows(dataColumns: Int, selection: => RowSelection) {

  private val some = new DerivedBatch(whole =>
    new ColumnarBatch(Array.tabulate(whole.numCols) { i =>
      if (i < dataColumns) new SelectedVector(whole.column(i), selection.numbers)
      else whole.column(i)
    }))

  /** The batch itself where all of its rows are. */
  def of(whole: ColumnarBatch): ColumnarBatch =
    if (selection.count == whole.numRows) whole
    else {
      val batch = some.of(whole)
      batch.setNumRows(selection.count)
      batch
    }
}

/**
 * Rows of which columns lie in vector chunks.
 *
 * @param columns to unpack the chunks to, by place in the read schema; null where there is no chunk
 */
private[spark] abstract class ZoneRows(val zones: PinnedZones, val columns: Array[ScanVector])
    extends RowGroupBatches {

  /** Where the last call of [[next]] began: all rows before were handed over or are not wanted. */
  var settled: ZonePosition = zones.position

  override def dropDamaged(): Unit = zones.held.foreach(_.dropIfDamaged())

  /** Fails the task where the vector chunks have other rows in a zone than the file. */
  def requireSame(zone: Int, inFile: ColumnarBatch): Unit = {
    val unpacked = columns.indices.filter(columns(_) != null)
    val rows = zones.chunk(unpacked.head).rows(zone)
    for (i <- unpacked) {
      columns(i).reset()
      columns(i).append(zones.chunk(i), zone, 0, rows, 0)
    }
    comparison.requireSame(
      new ColumnarBatch(unpacked.map(columns(_): ColumnVector).toArray, rows),
      new ColumnarBatch(unpacked.map(inFile.column(_)).toArray, inFile.numRows))
  }

  private lazy val comparison = new RowComparison(columns.filter(_ != null).map(_.dataType).toSeq)

  override def close(): Unit = zones.close()
}

/**
 * Rows of which every column lies in a vector chunk: those that meet the conditions, the survivors
 * of several zones one behind the other in one batch.
 *
 * @param columns by place in the read schema
 * @param batch of the columns and perhaps others
 */
private[spark] final class VectorRows(
    zones: PinnedZones,
    columns: Array[ScanVector],
    override val batch: ColumnarBatch)
    extends ZoneRows(zones, columns) {

  override def next(): Boolean = {
    settled = zones.position
    val filled = zones.fill(columns)
    batch.setNumRows(filled)
    filled > 0
  }
}

/**
 * Rows as Spark's reader decodes them, from one in its next batch on.
 *
 * @param from the first row that is wanted
 * @param dataColumns of the batches; behind them stand columns of partitions
 */
private[spark] final class ResumedRows(
    decoded: DecodedBatches,
    from: ZonePosition,
    deleted: RowGroupDeletes,
    selection: RowSelection,
    dataColumns: Int)
    extends RowGroupBatches {

  private val selected = new SelectedRows(dataColumns, selection)
  private var zone = from.zone
  private var current: ColumnarBatch = _

  override def batch: ColumnarBatch = current

  override def next(): Boolean = {
    var found = advance()
    while (found && current.numRows == 0) {
      found = advance()
    }
    found
  }

  private def advance(): Boolean = {
    val found = decoded.next()
    current = decoded.batch
    if (found) {
      val rows = current.numRows
      selection.reset(rows)
      if (zone == from.zone && from.row > 0) selection.passOver(from.row)
      deleted.leaveOut(selection, zone.toLong * VectorChunk.ZONE_ROWS, rows)
      current = selected.of(current)
      zone += 1
    }
    found
  }

  override def dropDamaged(): Unit = decoded.dropDamaged()

  override def close(): Unit = decoded.close()
}

/**
 * Rows of which some columns lie in vector chunks and Spark's reader decodes the others. A batch is
 * what is wanted of one zone, because the reader goes on by a zone's rows.
 *
 * @param columns those with vector chunks, by place in the read schema; the others are null
 * @param wholeOf a batch of the columns and of what the reader decodes, for a zone that is wanted whole
 * @param selectedOf the same with the wanted rows of what the reader decodes
 * @param filters conditions on columns that the reader decodes
 */
private[spark] final class MixedRows(
    zones: PinnedZones,
    columns: Array[ScanVector],
    decoded: DecodedBatches,
    promotion: Promotion,
    wholeOf: DerivedBatch,
    selectedOf: DerivedBatch,
    filters: DecodedFilters)
    extends ZoneRows(zones, columns) {

  private var current: ColumnarBatch = _

  override def batch: ColumnarBatch = current

  override def next(): Boolean = {
    settled = zones.position
    var found = advance()
    while (found && zones.remaining == 0) {
      found = advance()
    }
    if (found) fill()
    // What the columns keep of the last chunk goes with it, not with the task.
    else columns.foreach(column => if (column != null) column.reset())
    found
  }

  private def advance(): Boolean = {
    val found = zones.advance()
    if (found != decoded.next() || found && decoded.batch.numRows != zones.rows) {
      throw SparkException.internalError(
        s"Spark's reader is not at zone ${zones.currentZone} of the row group")
    }
    if (found) {
      promotion.add(decoded.batch)
      zones.narrow(filters, decoded.batch)
    }
    found
  }

  private def fill(): Unit = {
    val count = zones.remaining
    for (column <- columns.indices if columns(column) != null) {
      columns(column).reset()
      columns(column).append(zones.chunk(column), zones.currentZone, zones.rowNumbers, count, 0)
    }
    current = (if (zones.rowNumbers == 0) wholeOf else selectedOf).of(decoded.batch)
    current.setNumRows(count)
    zones.take(count)
  }

  override def dropDamaged(): Unit = {
    super.dropDamaged()
    decoded.dropDamaged()
  }

  override def close(): Unit =
    try promotion.close()
    finally {
      try decoded.close()
      finally super.close()
    }
}
