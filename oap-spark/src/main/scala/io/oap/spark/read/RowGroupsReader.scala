package io.oap.spark.read

import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.PinnedVector
import io.oap.cache.vector.{VectorChunk, VectorException}
import io.oap.common.ChunkKey
import io.oap.spark.filter.{DecodedFilter, DecodedFilters, PinnedZones}
import io.oap.spark.vector._

/**
 * One open split, row group by row group: each column from its vector chunk where the pool has it,
 * the others through Spark's reader.
 */
private[spark] final class RowGroupsReader(
    split: OpenSplit,
    task: TaskReadContext,
    deleted: DeletedPositions)
    extends SplitReader {

  private val schema = task.readSchema
  private val flat = split.columns(schema)
  private val flatByIndex = flat.map(column => column.index -> column).toMap
  private val flatByName = flat.map(column => schema(column.index).name -> column).toMap
  private val rowGroups = split.candidates(task.filters).iterator
  private var current: split.Group = _
  private var rows: Option[RowGroupBatches] = None

  private val partitionColumns: Array[ColumnVector] =
    task.partitionSchema.fields.zipWithIndex.map { case (field, i) =>
      val column = new ConstantColumnVector(VectorChunk.ZONE_ROWS, field.dataType)
      ColumnVectorUtils.populate(column, split.file.partitionValues, i)
      column
    }

  override def next(): Boolean = {
    var found = rows.exists(advance(_))
    while (!found && rowGroups.hasNext) {
      closeRows()
      current = rowGroups.next()
      rows = Some(open(current))
      found = rows.exists(advance(_))
    }
    found
  }

  private def advance(open: RowGroupBatches): Boolean =
    try open.next()
    catch {
      case e @ VectorFault() =>
        val failed = open match {
          case rows: ZoneRows => rows
          case _ => throw e
        }
        val resumed = resume(failed, e)
        rows = Some(resumed)
        failed.close()
        resumed.next()
    }

  /**
   * Decodes what is left of a row group whose vector chunks have failed. Where one of them is
   * damaged, rows that were handed over may be wrong, and are compared with those in the file.
   */
  private def resume(failed: ZoneRows, error: Throwable): RowGroupBatches = {
    val isDamaged = dropDamaged(failed.zones.held, error)
    val settled = failed.settled
    if (settled.isStart) decodedRows(current)
    else {
      if (isDamaged && settled.hasDropped) throw RowComparison.fault()
      val decoded =
        split.decoded(Seq(current), schema, Array.empty, VectorChunk.ZONE_ROWS)
      var isOpen = false
      try {
        for (zone <- 0 until settled.zone) {
          decoded.next()
          if (isDamaged) failed.requireSame(zone, decoded.batch)
        }
        isOpen = true
        new ResumedRows(decoded, settled, deletedIn(current), task.selection, schema.length)
      } finally if (!isOpen) decoded.close()
    }
  }

  /** Drops what is damaged; all, where chunks cannot be read although they are as they were made. */
  private def dropDamaged(held: Seq[PinnedVector], error: Throwable): Boolean =
    held.map(_.dropIfDamaged()).contains(true) || (error match {
      case e: VectorException if e.isCorrupt =>
        held.foreach(_.drop())
        true
      case _ => false
    })

  override def get(): ColumnarBatch = rows.get.batch

  override def dropDamaged(): Unit = rows.foreach(_.dropDamaged())

  override def close(): Unit = {
    task.unpacked.foreach(vector => if (vector != null) vector.close())
    try closeRows()
    finally partitionColumns.foreach(_.close())
  }

  private def closeRows(): Unit = {
    rows.foreach(_.close())
    rows = None
  }

  private def open(group: split.Group): RowGroupBatches = {
    val held = new Array[PinnedVector](schema.length)
    val rows =
      try {
        if (task.usesVectors) flat.foreach(column => held(column.index) = vectorOf(group, column))
        if (held.forall(_ == null)) None else Some(vectorRows(group, held))
      } catch {
        case e: Throwable =>
          val taken = held.toSeq.filter(_ != null)
          try if (!VectorFault.unapply(e)) throw e else dropDamaged(taken, e)
          finally taken.foreach(_.close())
          None
      }
    rows.getOrElse(decodedRows(group))
  }

  /** The vector chunk of a column if the pool holds it; else null. */
  private def vectorOf(group: split.Group, column: FlatColumn): PinnedVector = {
    val held = task.vectors.getIfHeld(key(group, column, column.representation), task.context)
    if (held == null || held.chunk.rows == group.rows) held
    else {
      held.drop()
      held.close()
      null
    }
  }

  private def key(group: split.Group, column: FlatColumn, representation: Long): ChunkKey =
    split.key(group, column.leaf, representation)

  private def decodedRows(group: split.Group): RowGroupBatches = {
    val promotion = promote(group, schema.indices)
    val deleted = deletedIn(group)
    val batchSize =
      if (!promotion.isEmpty) VectorChunk.ZONE_ROWS
      else if (deleted.isEmpty) task.batchSize
      else math.min(task.batchSize, VectorChunk.ZONE_ROWS)
    // Where it costs no reading, all rows are decoded rather than those of some pages only, so that
    // they can become vector chunks. Nor can rows of some pages be told by their positions.
    val filters =
      if (promotion.isOfHeldChunks || !deleted.isEmpty) Array.empty[Filter] else task.filters
    if (filters.isEmpty) promotion.dropDamaged()
    // All that may fail comes before the reader is open.
    val conditions = decodedFilters(schema.indices)
    new DecodedRows(
      split.decoded(Seq(group), schema, filters, batchSize),
      promotion,
      conditions,
      deleted,
      task.selection,
      schema.length,
      task.counters)
  }

  private def deletedIn(group: split.Group): RowGroupDeletes =
    deleted.ofRowGroup(group.firstRow, group.rows)

  /**
   * Conditions on columns that Spark's reader decodes, the most selective ones first.
   *
   * @param columns places in the read schema of what the reader gives
   */
  private def decodedFilters(columns: Seq[Int]): DecodedFilters = {
    val place = columns.zipWithIndex.toMap
    new DecodedFilters(
      for {
        filter <- task.rowFilters.sortBy(_.passRate)
        column <- flatByName.get(filter.column)
        index <- place.get(column.index)
      } yield new DecodedFilter(
        filter,
        index,
        filter.onDecoded(column.form, task.zoneCopy)))
  }

  private def vectorRows(group: split.Group, held: Array[PinnedVector]): RowGroupBatches = {
    for (column <- flat; vector = held(column.index) if vector != null) {
      task.counters.hit(vector.bytes)
      task.vectors.recordAsk(
        key(group, column, column.representation),
        vector,
        split.encodedBytes(group, column.leaf).getOrElse(vector.bytes),
        task.context)
    }
    val filters = for {
      filter <- task.rowFilters
      column <- flatByName.get(filter.column) if held(column.index) != null
    } yield filter -> column.index
    rowsOf(
      group,
      held,
      new PinnedZones(held, filters, deletedIn(group), task.selection, task.counters))
  }

  private def rowsOf(
      group: split.Group,
      held: Array[PinnedVector],
      zones: PinnedZones): RowGroupBatches = {
    for (column <- flat if held(column.index) != null && task.unpacked(column.index) == null) {
      task.unpacked(column.index) =
        new ScanVector(column.form.dataType, column.form.kind, VectorChunk.ZONE_ROWS)
    }
    val here = schema.indices.map(i => if (held(i) == null) null else task.unpacked(i)).toArray
    val rest = schema.indices.filter(held(_) == null)
    if (rest.isEmpty) new VectorRows(zones, here, new ColumnarBatch(here ++ partitionColumns))
    else if (zones.hasCandidate) mixedRows(group, rest, here, zones)
    else new VectorRows(zones, Array.empty, new ColumnarBatch(Array.empty)) // decodes nothing
  }

  /**
   * @param rest places in the read schema of what Spark's reader is to decode
   * @param here the other columns, by place in the read schema
   */
  private def mixedRows(
      group: split.Group,
      rest: Seq[Int],
      here: Array[ScanVector],
      zones: PinnedZones): RowGroupBatches = {
    // All that may fail comes before the reader is open.
    val promotion = promote(group, rest)
    promotion.dropDamaged()
    val conditions = decodedFilters(rest)
    val decoded = split.decoded(
      Seq(group),
      StructType(rest.map(schema(_))),
      Array.empty,
      VectorChunk.ZONE_ROWS)
    val place = rest.zipWithIndex.toMap
    def batch(column: ColumnVector => ColumnVector) = new DerivedBatch(from => {
      val data = schema.indices.map(i =>
        if (here(i) == null) column(from.column(place(i))) else here(i))
      new ColumnarBatch((data ++ partitionColumns).toArray)
    })
    new MixedRows(
      zones,
      here,
      decoded,
      promotion,
      batch(identity),
      batch(new SelectedVector(_, task.selection.numbers)),
      conditions)
  }

  /** What of the columns that Spark's reader gives is to become vector chunks. */
  private def promote(group: split.Group, columns: Seq[Int]): Promotion = {
    val chunks = for {
      (index, place) <- if (task.usesVectors) columns.zipWithIndex else Nil
      column <- flatByIndex.get(index)
      vector = key(group, column, column.representation)
      encoded = key(group, column, ChunkKey.ENCODED)
      isHeld = split.isAtHand(group, column.leaf, task.vectors, task.context)
      if task.promotes(vector, isHeld)
    } yield PromotedChunk(
      place,
      column.form,
      vector,
      encoded,
      split.encodedBytes(group, column.leaf).getOrElse(0L),
      isHeld)
    new Promotion(
      chunks,
      group.rows,
      task.vectors,
      task.context,
      task.zoneCopy)
  }
}

/**
 * Why vector chunks cannot be read: they are damaged, the disk does not give them, or there is no
 * memory outside the heap.
 */
private object VectorFault {
  def unapply(error: Throwable): Boolean = error match {
    case _: VectorException | _: OutOfMemoryError | MemoryFault() => true
    case _ => false
  }
}
