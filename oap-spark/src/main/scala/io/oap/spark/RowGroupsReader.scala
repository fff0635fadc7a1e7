package io.oap.spark

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.vectorized.{ColumnVectorUtils, ConstantColumnVector}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.HeldVector
import io.oap.cache.parquet.CachedParquetFile.RowGroup
import io.oap.cache.vector.{VectorChunk, VectorException}
import io.oap.common.ChunkKey

/**
 * One open split, row group by row group: each column from its vector chunk where the pool has it,
 * the others through Spark's reader.
 */
private final class RowGroupsReader(split: SplitFile, task: RowGroupsTask)
    extends PartitionReader[ColumnarBatch] {

  private val schema = task.readSchema
  private val flat = FlatColumn.of(split.metaData.getSchema, schema, split.calendar, task.conf)
  private val flatByIndex = flat.map(column => column.index -> column).toMap
  private val flatByName = flat.map(column => schema(column.index).name -> column).toMap
  private val rowGroups = split.withCandidates(split.rowGroups, task.filters).iterator
  private var rows: Option[BatchRows] = None

  private val partitionColumns: Array[ColumnVector] =
    task.partitionSchema.fields.zipWithIndex.map { case (field, i) =>
      val column = new ConstantColumnVector(VectorChunk.ZONE_ROWS, field.dataType)
      ColumnVectorUtils.populate(column, split.file.partitionValues, i)
      column
    }

  // Keys of the vector chunks that the rows come from.
  private var vectorKeys = Vector.empty[ChunkKey]

  override def next(): Boolean =
    try {
      var found = rows.exists(_.next())
      while (!found && rowGroups.hasNext) {
        closeRows()
        rows = Some(open(rowGroups.next()))
        found = rows.exists(_.next())
      }
      found
    } catch {
      case e: VectorException if e.isCorrupt =>
        // Some of its rows may have been handed over: whoever reads it again finds it gone.
        vectorKeys.foreach(task.vectors.drop(_))
        throw e
    }

  override def get(): ColumnarBatch = rows.get.batch

  override def close(): Unit = {
    task.unpacked.foreach(vector => if (vector != null) vector.close())
    try closeRows()
    finally partitionColumns.foreach(_.close())
  }

  private def closeRows(): Unit = {
    rows.foreach(_.close())
    rows = None
  }

  private def open(group: RowGroup): BatchRows = {
    val held = new Array[HeldVector](schema.length)
    vectorKeys = Vector.empty
    if (task.usesVectors) {
      for (column <- flat) {
        val vector = key(group, column, column.representation)
        held(column.index) = task.vectors.getIfHeld(vector)
        if (held(column.index) != null) vectorKeys :+= vector
      }
    }
    if (held.forall(_ == null)) decodedRows(group) else vectorRows(group, held)
  }

  private def key(group: RowGroup, column: FlatColumn, representation: Long): ChunkKey =
    split.cached.key(group, column.leaf, representation)

  private def decodedRows(group: RowGroup): BatchRows = {
    val promotion = promote(group, schema.indices)
    val batchSize = if (promotion.isEmpty) task.batchSize else VectorChunk.ZONE_ROWS
    // Where it costs no reading, all rows are decoded rather than those of some pages only, so that
    // they can become vector chunks.
    val filters = if (promotion.isOfHeldChunks) Array.empty[Filter] else task.filters
    // All that may fail comes before the reader is open.
    val conditions = decodedFilters(schema.indices)
    val selection = task.selection
    new DecodedRows(
      split.reader(Seq(group), schema, filters, batchSize),
      promotion,
      conditions,
      selection,
      schema.length,
      task.counters)
  }

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

  private def vectorRows(group: RowGroup, held: Array[HeldVector]): BatchRows = {
    var isOpen = false
    var zones: ZoneScan = null
    try {
      for (column <- flat; vector = held(column.index) if vector != null) {
        task.counters.hit(vector.bytes)
        val encoded = split.cached.chunk(group, column.leaf)
        task.vectors.asked(
          key(group, column, column.representation),
          vector,
          if (encoded == null) vector.bytes else encoded.length.toLong)
      }
      val filters = for {
        filter <- task.rowFilters
        column <- flatByName.get(filter.column) if held(column.index) != null
      } yield filter -> column.index
      zones = new ZoneScan(held, filters, task.selection, task.counters)
      val rows = rowsOf(group, held, zones)
      isOpen = true
      rows
    } finally {
      if (!isOpen) held.foreach(vector => if (vector != null) vector.close())
    }
  }

  private def rowsOf(group: RowGroup, held: Array[HeldVector], zones: ZoneScan): BatchRows = {
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
      group: RowGroup,
      rest: Seq[Int],
      here: Array[ScanVector],
      zones: ZoneScan): BatchRows = {
    // All that may fail comes before the reader is open.
    val promotion = promote(group, rest)
    val conditions = decodedFilters(rest)
    val reader = split.reader(
      Seq(group),
      StructType(rest.map(schema(_))),
      Array.empty,
      VectorChunk.ZONE_ROWS)
    val decoded = rest.zipWithIndex.map { case (column, place) =>
      column -> reader.resultBatch().column(place)
    }.toMap
    def batch(column: ColumnVector => ColumnVector): ColumnarBatch = {
      val data = schema.indices.map(i => if (here(i) == null) column(decoded(i)) else here(i))
      new ColumnarBatch((data ++ partitionColumns).toArray)
    }
    new MixedRows(
      zones,
      here,
      reader,
      promotion,
      batch(identity),
      batch(new SelectedVector(_, task.selection.numbers)),
      conditions)
  }

  /** What of the columns that Spark's reader gives is to become vector chunks. */
  private def promote(group: RowGroup, columns: Seq[Int]): Promotion = {
    lazy val sizes =
      group.metaData.getColumns.asScala.map(chunk => chunk.getPath -> chunk.getTotalSize).toMap
    val chunks = for {
      (index, place) <- if (task.usesVectors) columns.zipWithIndex else Nil
      column <- flatByIndex.get(index)
      vector = key(group, column, column.representation)
      encoded = key(group, column, ChunkKey.ENCODED)
      isHeld = task.vectors.isHeld(encoded)
      if task.promotes(vector, isHeld)
    } yield PromotedChunk(
      place,
      column.form,
      vector,
      encoded,
      sizes.getOrElse(column.path, 0L),
      isHeld)
    new Promotion(chunks, group.metaData.getRowCount, task.vectors, task.zoneCopy)
  }
}
