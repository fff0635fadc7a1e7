package io.oap.spark

import org.apache.spark.SparkException
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.CacheCounters
import io.oap.cache.vector.VectorChunk

/** Rows of one row group, a batch at a time. For one thread. */
private trait BatchRows extends AutoCloseable {

  /** Fills the next batch; false when there is none. */
  def next(): Boolean

  /** The batch, to be looked at until the next call of [[next]] or [[close]]. */
  def batch: ColumnarBatch
}

/**
 * Rows as Spark's reader decodes them: those that meet the conditions, batch by batch, or all of a
 * batch where nearly all meet them.
 *
 * @param dataColumns of the batches; behind them stand columns of partitions
 */
private final class DecodedRows(
    reader: VectorizedParquetRecordReader,
    promotion: Promotion,
    filters: DecodedFilters,
    selection: RowSelection,
    dataColumns: Int,
    counters: CacheCounters)
    extends BatchRows {

  private val whole: ColumnarBatch = reader.resultBatch()
  private lazy val selected: ColumnarBatch =
    new ColumnarBatch(Array.tabulate(whole.numCols) { i =>
      if (i < dataColumns) new SelectedVector(whole.column(i), selection.numbers)
      else whole.column(i)
    })
  private var current = whole

  override def batch: ColumnarBatch = current

  override def next(): Boolean = {
    var found = advance()
    while (found && current.numRows == 0) {
      found = advance()
    }
    found
  }

  private def advance(): Boolean = {
    val found = reader.nextKeyValue()
    current = whole
    if (found) {
      promotion.add(whole)
      if (!filters.isEmpty) filter()
    }
    found
  }

  private def filter(): Unit = {
    selection.reset(whole.numRows)
    filters.narrow(selection, whole)
    val dropped = whole.numRows - selection.count
    if (dropped > whole.numRows / DecodedRows.NearlyAll) {
      counters.dropRows(dropped)
      selected.setNumRows(selection.count)
      current = selected
    }
  }

  override def close(): Unit =
    try promotion.close()
    finally reader.close()
}

private object DecodedRows {

  /** To pick rows by number costs as much as to pass on one row in so many that nobody wants. */
  private val NearlyAll = 8
}

/**
 * Rows of which every column lies in a vector chunk: those that meet the conditions, the survivors
 * of several zones one behind the other in one batch.
 *
 * @param columns by place in the read schema
 * @param batch of the columns and perhaps others
 */
private final class VectorRows(
    zones: ZoneScan,
    columns: Array[ScanVector],
    override val batch: ColumnarBatch)
    extends BatchRows {

  override def next(): Boolean = {
    columns.foreach(_.reset())
    var filled = 0
    while (filled < VectorChunk.ZONE_ROWS && (zones.remaining > 0 || zones.advanceToCandidate())) {
      val count = math.min(zones.remaining, VectorChunk.ZONE_ROWS - filled)
      if (count < zones.remaining) zones.enumerate()
      for (column <- columns.indices) {
        columns(column).append(
          zones.chunk(column),
          zones.currentZone,
          zones.rowNumbers,
          count,
          filled)
      }
      zones.take(count)
      filled += count
    }
    batch.setNumRows(filled)
    filled > 0
  }

  override def close(): Unit = zones.close()
}

/**
 * Rows of which some columns lie in vector chunks and Spark's reader decodes the others. A batch is
 * what is wanted of one zone, because the reader goes on by a zone's rows.
 *
 * @param columns those with vector chunks, by place in the read schema; the others are null
 * @param whole of the columns and what the reader decodes, for a zone that is wanted whole
 * @param selected the same with the wanted rows of what the reader decodes
 * @param filters conditions on columns that the reader decodes
 */
private final class MixedRows(
    zones: ZoneScan,
    columns: Array[ScanVector],
    reader: VectorizedParquetRecordReader,
    promotion: Promotion,
    whole: ColumnarBatch,
    selected: ColumnarBatch,
    filters: DecodedFilters)
    extends BatchRows {

  private var current = whole

  override def batch: ColumnarBatch = current

  override def next(): Boolean = {
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
    if (found != reader.nextBatch() || found && reader.resultBatch().numRows != zones.rows) {
      throw SparkException.internalError(
        s"Parquet's reader is not at zone ${zones.currentZone} of the row group")
    }
    if (found) {
      promotion.add(reader.resultBatch())
      zones.narrow(filters, reader.resultBatch())
    }
    found
  }

  private def fill(): Unit = {
    val count = zones.remaining
    for (column <- columns.indices if columns(column) != null) {
      columns(column).reset()
      columns(column).append(zones.chunk(column), zones.currentZone, zones.rowNumbers, count, 0)
    }
    current = if (zones.rowNumbers == 0) whole else selected
    current.setNumRows(count)
    zones.take(count)
  }

  override def close(): Unit =
    try promotion.close()
    finally {
      try reader.close()
      finally zones.close()
    }
}
