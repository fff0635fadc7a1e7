package io.oap.spark.vector

import java.util.BitSet

import org.apache.spark.unsafe.Platform

/**
 * Positions of rows of one file that its table says are deleted. For one thread, but others may use
 * the same set.
 *
 * @param positions in the file, from 0, each less than [[DeletedPositions.MostRows]]
 */
private[spark] final class DeletedPositions(positions: BitSet) {
  private var leftOut = 0L

  // The next one from some row on: row groups are read in their order, and few zones may have any.
  private var asked = 0
  private var next = positions.nextSetBit(0)

  def isEmpty: Boolean = positions.isEmpty

  /** How many rows were left out so far that were wanted otherwise. */
  def applied: Long = leftOut

  /**
   * The deleted rows of a row group.
   *
   * @param firstRow its position in the file
   * @param rows how many it has
   */
  def ofRowGroup(firstRow: Long, rows: Long): RowGroupDeletes =
    if (!isEmpty && hasAny(firstRow, rows)) new RowGroupDeletes(Some(this), firstRow)
    else RowGroupDeletes.None

  /** Leaves rows of a zone or a batch, as in [[RowGroupDeletes.leaveOut]]. */
  private[vector] def leaveOut(selection: RowSelection, firstRow: Long, rows: Int): Unit =
    if (hasAny(firstRow, rows)) {
      val before = selection.count
      selection.narrow(others(firstRow.toInt, _, _, _))
      leftOut += before - selection.count
    }

  private def hasAny(firstRow: Long, rows: Long): Boolean = firstRow < positions.length && {
    val row = firstRow.toInt
    if (row < asked || row > next) {
      asked = row
      next = positions.nextSetBit(row)
    }
    next < firstRow + rows
  }

  private def others(firstRow: Int, rows: Long, count: Int, out: Long): Int = {
    var left = 0
    var i = 0
    while (i < count) {
      val row = RowSelection.numberAt(rows, i)
      if (!positions.get(firstRow + row)) {
        Platform.putShort(null, out + 2L * left, row.toShort)
        left += 1
      }
      i += 1
    }
    left
  }
}

private[spark] object DeletedPositions {

  /** 128 MiB of bits. */
  val MostRows: Int = 1 << 30

  /** A file without deleted rows; for any number of threads. */
  val None: DeletedPositions = new DeletedPositions(new BitSet)
}

/** The deleted rows of one row group; none where the file has none there. */
private[spark] final class RowGroupDeletes private[vector] (
    ofFile: Option[DeletedPositions],
    firstRow: Long) {

  def isEmpty: Boolean = ofFile.isEmpty

  /**
   * Leaves the rows of a zone or a batch that are not deleted. Asked again, it changes nothing.
   *
   * @param from where its first row stands in the row group
   * @param rows how many it has, wanted or not
   */
  def leaveOut(selection: RowSelection, from: Long, rows: Int): Unit =
    if (selection.count > 0) ofFile.foreach(_.leaveOut(selection, firstRow + from, rows))
}

private[spark] object RowGroupDeletes {

  /** For any number of threads. */
  val None: RowGroupDeletes = new RowGroupDeletes(Option.empty, 0)
}
