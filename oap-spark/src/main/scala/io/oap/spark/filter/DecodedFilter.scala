package io.oap.spark.filter

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.Platform

import io.oap.cache.vector.VectorChunk
import io.oap.spark.vector.{RowSelection, VectorType, ZoneCopy}

/**
 * Conditions of a query on columns that Spark's reader decodes, in one row group. A fault costs the
 * conditions, which Spark's own operators repeat, nothing else. For one thread.
 *
 * @param conditions to be applied in this order
 */
private[spark] final class DecodedFilters(conditions: Seq[DecodedFilter]) extends Logging {
  private var filters = conditions

  def isEmpty: Boolean = filters.isEmpty

  /**
   * Leaves those of the rows that meet the conditions; all, where few of them are nulls that do not.
   *
   * @return false where a fault made all rows of the batch wanted
   */
  def narrow(rows: RowSelection, batch: ColumnarBatch): Boolean =
    try {
      if (!leavesOutFewNulls(batch)) filters.foreach(narrow(_, rows, batch))
      true
    } catch {
      case e @ (NonFatal(_) | _: OutOfMemoryError) => // which is of memory outside the heap
        logDebug("Rows are not filtered in the scan", e)
        filters = Nil
        rows.reset(batch.numRows) // Some of the row numbers may be written over.
        false
    }

  /** The reader counts nulls, so that no row has to be looked at. */
  private def leavesOutFewNulls(batch: ColumnarBatch): Boolean =
    filters.forall(_.task.isOnNotNull) &&
      filters.map(filter => batch.column(filter.column).numNulls).sum <=
      batch.numRows / DecodedFilters.NearlyAll

  private def narrow(filter: DecodedFilter, rows: RowSelection, batch: ColumnarBatch): Unit = {
    val column = batch.column(filter.column)
    // Spark wants no nulls of nearly every column that it compares, and few columns have any.
    val isMetByAll = filter.task.isOnNotNull && !column.hasNull
    if (rows.count > 0 && !isMetByAll) {
      val before = rows.count
      rows.narrow(filter.select(column, batch.numRows, _, _, _))
      filter.task.note(before, rows.count)
    }
  }
}

private[spark] object DecodedFilters {

  /** To pick rows by number costs as much as to pass on one row in so many that nobody wants. */
  val NearlyAll = 8
}

/**
 * One of the conditions. Parquet has one dictionary for a column in a row group: which of its
 * entries meet the condition is kept, so that most rows are told by the number of their entry.
 *
 * @param column its place in the batches
 * @param valuesOfTask the condition by values
 */
private[spark] final class DecodedFilter(
    val task: TaskFilter,
    val column: Int,
    valuesOfTask: => DecodedValues) {

  import DecodedFilter._

  private lazy val values = valuesOfTask
  private var entries = new Array[Byte](256)
  private val found = new Array[Short](VectorChunk.ZONE_ROWS)
  private var batchesWithUnknown = 0

  /**
   * Which rows meet the condition.
   *
   * @param batchRows at most [[VectorChunk.ZONE_ROWS]]
   * @param rows address of the row numbers to look at, 0 for all; the rest as in [[ZoneFilter]]
   */
  def select(vector: ColumnVector, batchRows: Int, rows: Long, count: Int, out: Long): Int =
    vector match {
      case coded: WritableColumnVector
          if coded.hasDictionary && !task.isOnNulls && batchesWithUnknown < MostWithUnknown =>
        val ids = coded.getDictionaryIds.getInts(0, batchRows)
        val known = selectByEntry(vector, ids, rows, count)
        if (known >= 0) {
          Platform.copyMemory(found, Platform.SHORT_ARRAY_OFFSET, null, out, 2L * known)
          known
        } else {
          batchesWithUnknown += 1
          keep(vector, ids, rows, count, Missed)
          val met = values.select(vector, batchRows, rows, count, out)
          keep(vector, ids, out, met, Met)
          met
        }
      case _ => values.select(vector, batchRows, rows, count, out)
    }

  /** How many of the rows were found to meet it; less than 0 where an entry is not known. */
  private def selectByEntry(
      vector: ColumnVector,
      ids: Array[Int],
      rows: Long,
      count: Int): Int = {
    val mayBeNull = vector.hasNull
    val known = entries
    var met = 0
    var i = 0
    while (i < count && met >= 0) {
      val row = RowSelection.numberAt(rows, i)
      if (!mayBeNull || !vector.isNullAt(row)) {
        val id = ids(row)
        val entry = if (id >= 0 && id < known.length) known(id) else Unknown
        found(met) = row.toShort
        if (entry == Met) met += 1
        else if (entry == Unknown) met = -1
      }
      i += 1
    }
    met
  }

  private def keep(
      vector: ColumnVector,
      ids: Array[Int],
      rows: Long,
      count: Int,
      what: Byte): Unit = {
    var i = 0
    while (i < count) {
      val row = RowSelection.numberAt(rows, i)
      if (!vector.isNullAt(row)) {
        val id = ids(row)
        if (id >= 0 && id < MostEntries) {
          if (id >= entries.length) {
            entries = java.util.Arrays.copyOf(entries, Integer.highestOneBit(id) * 2)
          }
          entries(id) = what
        }
      }
      i += 1
    }
  }
}

private[spark] object DecodedFilter {
  private val Unknown: Byte = 0
  private val Missed: Byte = 1
  private val Met: Byte = 2

  /** A dictionary that has new entries even later is so large that to learn it saves nothing. */
  private val MostWithUnknown = 64

  /** Entries that are kept. Writers end a dictionary long before. */
  private val MostEntries = 1 << 22
}

/** A condition on rows of Spark's vectors, by their values; belongs to a task. */
private[spark] trait DecodedValues {

  /** As [[DecodedFilter.select]]. */
  def select(vector: ColumnVector, batchRows: Int, rows: Long, count: Int, out: Long): Int
}

private[spark] object DecodedValues {

  /**
   * Values of a fixed width, as the only zone of a chunk that is in no pool.
   *
   * @param zone the chunk
   * @param condition on it
   */
  def ofZone(
      zone: VectorChunk,
      condition: ZoneFilter,
      form: VectorType,
      copy: ZoneCopy): DecodedValues =
    (vector, batchRows, rows, count, out) => {
      copy.load(vector, form, batchRows, zone)
      condition.select(0, rows, count, out)
    }

  /**
   * Any values, row by row.
   *
   * @param meets whether a row, by its number, meets the condition
   */
  def oneByOne(meets: (ColumnVector, Int) => Boolean): DecodedValues =
    (vector, _, rows, count, out) => {
      var met = 0
      var i = 0
      while (i < count) {
        val row = RowSelection.numberAt(rows, i)
        if (meets(vector, row)) {
          Platform.putShort(null, out + 2L * met, row.toShort)
          met += 1
        }
        i += 1
      }
      met
    }
}
