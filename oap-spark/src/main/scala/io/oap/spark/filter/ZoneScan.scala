package io.oap.spark.filter

import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.PinnedVector
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.vector.{VectorChunk, ZoneDecision}
import io.oap.spark.vector.{RowGroupDeletes, RowSelection, ScanVector}

/**
 * Goes through the zones of one row group or batch, and finds the rows of each that meet the
 * conditions. For one thread.
 *
 * @param chunks by place of their columns; null where a column has no vector chunk, but not all
 * @param filters conditions and the chunk each is about, by place of its column
 * @param deleted rows that nobody wants
 * @param selection for the rows of a zone, used as long as this is
 */
private[spark] class ZoneScan(
    chunks: Array[VectorChunk],
    filters: Seq[(TaskFilter, Int)],
    deleted: RowGroupDeletes,
    selection: RowSelection,
    counters: CacheCounters) {

  private val any: VectorChunk = chunks.find(_ != null).get
  private val conditions: Seq[(TaskFilter, ZoneFilter)] =
    filters.sortBy(_._1.passRate).map { case (filter, column) =>
      filter -> filter.on(chunk(column))
    }

  private var zone = -1
  private var taken = 0
  private var hasDropped = false
  selection.reset(0) // as nothing is left of what was selected from before

  /** The chunk of a column, by its place; null when it has none. */
  def chunk(column: Int): VectorChunk = chunks(column)

  /** The zone that was found last, from 0. */
  def currentZone: Int = zone

  /** How many rows of the zone are wanted and not yet taken. */
  def remaining: Int = selection.count - taken

  /** Rows of the zone, wanted or not. */
  def rows: Int = any.rows(zone)

  /** The first row that is still to be taken, or to be looked at. */
  def position: ZonePosition =
    if (remaining == 0) ZonePosition(zone + 1, 0, hasDropped)
    else ZonePosition(zone, selection.number(taken), hasDropped)

  /** Address of the numbers of the rows that are wanted and not yet taken; 0: all of the zone. */
  def rowNumbers: Long = if (selection.rowNumbers == 0) 0 else selection.rowNumbers + 2L * taken

  /** Takes rows from the front of those that are left; all at once while they are the whole zone. */
  def take(count: Int): Unit = taken += count

  /** Whether there is a zone of which a row may be wanted, as far as minimum and maximum tell. */
  def hasCandidate: Boolean = (0 until any.zones).exists(zone =>
    conditions.forall(_._2.decide(zone) != ZoneDecision.NONE))

  /** Goes to the next zone that has a wanted row; false when there is none. */
  def advanceToCandidate(): Boolean = {
    var found = advance()
    while (found && remaining == 0) {
      found = advance()
    }
    found
  }

  /** Goes to the next zone, even if none of its rows is wanted; false when there is none. */
  def advance(): Boolean = {
    zone += 1
    taken = 0
    if (zone >= any.zones) {
      selection.reset(0)
      false
    } else {
      select()
      if (selection.count == 0) counters.add(Figure.ZONES_SKIPPED, 1)
      else counters.add(Figure.ROWS_DROPPED, rows - selection.count)
      hasDropped ||= selection.count < rows
      leaveOutDeleted()
      true
    }
  }

  private def leaveOutDeleted(): Unit =
    deleted.leaveOut(selection, zone.toLong * VectorChunk.ZONE_ROWS, rows)

  private def select(): Unit = {
    val decisions = conditions.map { case (filter, condition) =>
      (filter, condition, condition.decide(zone))
    }
    selection.reset(if (decisions.exists(_._3 == ZoneDecision.NONE)) 0 else rows)
    for ((filter, condition, decision) <- decisions if decision == ZoneDecision.SOME) {
      if (selection.count > 0) {
        val before = selection.count
        selection.narrow(condition.select(zone, _, _, _))
        filter.note(before, selection.count)
      }
    }
  }

  /** Leaves those of the zone's rows that meet other conditions, before any is taken. */
  def narrow(filters: DecodedFilters, batch: ColumnarBatch): Unit = if (remaining > 0) {
    val before = selection.count
    if (filters.narrow(selection, batch)) {
      counters.add(Figure.ROWS_DROPPED, before - selection.count)
    } else leaveOutDeleted()
  }

  /**
   * Takes wanted rows of one zone after the other, as many as a batch has, and puts them one behind
   * the other.
   *
   * @param columns emptied for them, by place; each has a chunk
   * @return how many rows they are; 0 where none is left
   */
  def fill(columns: Array[ScanVector]): Int = {
    columns.foreach(_.reset())
    var filled = 0
    while (filled < VectorChunk.ZONE_ROWS && (remaining > 0 || advanceToCandidate())) {
      val count = math.min(remaining, VectorChunk.ZONE_ROWS - filled)
      // Where a zone is wanted whole, a part of it has row numbers, too.
      if (count < remaining) selection.enumerate()
      for (column <- columns.indices) {
        columns(column).append(chunk(column), zone, rowNumbers, count, filled)
      }
      take(count)
      filled += count
    }
    filled
  }
}

/**
 * The zones of chunks that are pinned. Takes over the pins and ends them when it is closed.
 *
 * @param pinned by place of their columns; null where a column has no vector chunk, but not all
 */
private[spark] final class PinnedZones(
    pinned: Array[PinnedVector],
    filters: Seq[(TaskFilter, Int)],
    deleted: RowGroupDeletes,
    selection: RowSelection,
    counters: CacheCounters)
    extends ZoneScan(
      pinned.map(one => if (one == null) null else one.chunk),
      filters,
      deleted,
      selection,
      counters)
    with AutoCloseable {

  /** The chunks that there are. */
  def held: Seq[PinnedVector] = pinned.toSeq.filter(_ != null)

  override def close(): Unit = held.foreach(_.close())
}

/**
 * A row of a row group.
 *
 * @param hasDropped whether some row before it was left out for what its vector chunks say
 */
private[spark] final case class ZonePosition(zone: Int, row: Int, hasDropped: Boolean) {
  def isStart: Boolean = zone == 0 && row == 0
}
