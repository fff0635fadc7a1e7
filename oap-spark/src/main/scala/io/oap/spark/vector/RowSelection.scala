package io.oap.spark.vector

import org.apache.spark.unsafe.Platform

import io.oap.cache.vector.NativeBuffer

/**
 * Which rows of a zone or a batch are wanted: all, or those whose numbers stand in memory that one
 * row group after the other uses. For one thread.
 *
 * @param numbers room for the row numbers, unsigned and of 16 bits each
 */
private[spark] final class RowSelection(val numbers: NativeBuffer) {
  private var isWhole = true
  private var wanted = 0

  /** Starts anew with all rows, or none. */
  def reset(rows: Int): Unit = {
    isWhole = true
    wanted = rows
  }

  /** How many rows are wanted. */
  def count: Int = wanted

  /** The number of the i-th wanted row. */
  def number(i: Int): Int = if (isWhole) i else numbers.buffer.getShort(2 * i) & 0xffff

  /** Address of their numbers, ascending; 0: all rows are wanted. */
  def rowNumbers: Long = if (isWhole) 0 else numbers.address

  /**
   * Leaves the rows that meet a condition.
   *
   * @param select gets [[rowNumbers]], [[count]] and the address that the numbers of those rows are to be
   *     written to, which may be that of the rows; gives how many they are
   */
  def narrow(select: (Long, Int, Long) => Int): Unit = {
    wanted = select(rowNumbers, wanted, numbers.address)
    isWhole = false
  }

  /** Leaves out the rows before this one, of all rows. */
  def passOver(row: Int): Unit = {
    wanted -= row
    for (i <- 0 until wanted) {
      numbers.buffer.putShort(2 * i, (row + i).toShort)
    }
    isWhole = false
  }

  /** Makes row numbers stand for all rows. */
  def enumerate(): Unit = if (isWhole) {
    for (row <- 0 until wanted) {
      numbers.buffer.putShort(2 * row, row.toShort)
    }
    isWhole = false
  }
}

private[spark] object RowSelection {

  /** One of the row numbers at an address; those at 0 are all rows. */
  def numberAt(rows: Long, i: Int): Int =
    if (rows == 0) i else Platform.getShort(null, rows + 2L * i) & 0xffff
}
