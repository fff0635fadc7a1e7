package io.oap.spark.filter

import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.PinnedVector
import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.cache.vector.{VectorChunk, ZoneDecision}
import io.oap.spark.vector.RowSelection

/**
 * Goes through the zones of one row group, and finds the rows of each that meet the conditions.
 * Takes over the chunks and gives them back when it is closed. For one thread.
 *
 * @param chunks by place in the read schema; null where a column has no vector chunk, but not all
 * @param filters conditions and the chunk each is about, by place in the read schema
 * @param selection for the rows of a zone, used until this is closed
 */
private[spark] final class ZoneScan(
    chunks: Array[PinnedVector],
    filters: Seq[(TaskFilter, Int)],
    selection: RowSelection,
    counters: CacheCounters)
    extends AutoCloseable {

  private val any: VectorChunk = chunks.find(_ != null).get.chunk
  private val conditions: Seq[(TaskFilter, ZoneFilter)] =
    filters.sortBy(_._1.passRate).map { case (filter, column) =>
      filter -> filter.on(chunk(column))
    }

  private var zone = -1
  private var taken = 0
  private var hasDropped = false
  selection.reset(0) // as nothing is left of what was selected from before

  /** The chunk of a column, by its place in the read schema; null when it has none. */
  def chunk(column: Int): VectorChunk =
    if (chunks(column) == null) null else chunks(column).chunk

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
      true
    }
  }

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
    filters.narrow(selection, batch)
    counters.add(Figure.ROWS_DROPPED, before - selection.count)
  }

  /** Makes row numbers stand for a zone that is wanted whole, where only a part can be taken. */
  def enumerate(): Unit = selection.enumerate()

  /** The chunks that there are. */
  def held: Seq[PinnedVector] = chunks.toSeq.filter(_ != null)

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
