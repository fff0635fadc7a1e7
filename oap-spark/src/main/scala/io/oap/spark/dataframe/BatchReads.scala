package io.oap.spark.dataframe

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.stats.CacheCounters
import io.oap.cache.vector.{NativeBuffer, VectorChunk}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.filter.{TaskFilter, ZoneScan}
import io.oap.spark.vector.{RowGroupDeletes, RowSelection, ScanVector, VectorType}

/** A column that is read: its place in the batch, and the flat type as which it is kept. */
private[dataframe] final case class ReadColumn(index: Int, dataType: DataType)

/**
 * The batches of one partition as Spark's columnar ones, without those rows that conditions drop. It is
 * closed when the task has ended; a thread that reads for the task and outlives it gets no more, as
 * with readers of files.
 */
private[dataframe] final class BatchReads(batches: Iterator[CachedBatch], columns: Seq[ReadColumn])
    extends Iterator[ColumnarBatch] with AutoCloseable {
  private lazy val vectors = columns.map { column =>
    new ScanVector(
      column.dataType,
      VectorType.of(column.dataType).get.kind,
      VectorChunk.ZONE_ROWS)
  }.toArray
  private lazy val batch = new ColumnarBatch(vectors.toArray[ColumnVector])
  private lazy val memory = mutable.Map.empty[Int, GrowingMemory] // by place in the batches
  private lazy val selection = new RowSelection(new NativeBuffer(VectorChunk.ZONE_ROWS * 2))
  private val counters = new CacheCounters
  private var open: Option[OpenBatch] = None
  private var isClosed = false

  override def hasNext: Boolean = synchronized {
    !isClosed && (open.exists(_.hasNext) || advance())
  }

  /** The last batch stays open: who has asked for more may still look at its rows. */
  private def advance(): Boolean = {
    while (!open.exists(_.hasNext) && batches.hasNext) {
      open.foreach(_.close())
      open = None
      open = Some(batches.next() match {
        case filtered: FilteredBatch => openVectors(filtered.vectors, filtered.conditions.filters)
        case vectors: VectorBatch => openVectors(vectors, Nil)
        case rows: RowBatch => new OpenRows(rows)
        case other => throw new IllegalStateException(s"a batch of ${other.getClass.getName}")
      })
    }
    open.exists(_.hasNext)
  }

  override def next(): ColumnarBatch = synchronized {
    if (!hasNext) throw new NoSuchElementException
    open.get.next()
  }

  override def close(): Unit = synchronized {
    if (!isClosed) ExecutorCache.addTotals(counters)
    isClosed = true
    open.foreach(_.close())
    open = None
  }

  private def openVectors(from: VectorBatch, filters: Seq[(TaskFilter, Int)]): OpenBatch =
    if (columns.isEmpty && filters.isEmpty) new OpenCount(from.numRows)
    else new OpenVectors(from, filters)

  private trait OpenBatch extends Iterator[ColumnarBatch] with AutoCloseable

  private final class OpenVectors(from: VectorBatch, filters: Seq[(TaskFilter, Int)])
      extends OpenBatch {
    private val hold = from.use()
    // Those that are read come first, then others that conditions are about.
    private val places = {
      val read = columns.map(_.index)
      read ++ filters.map(_._2).distinct.diff(read)
    }
    private val chunks = new Array[VectorChunk](places.size)
    private val zones: ZoneScan =
      try {
        for ((place, i) <- places.zipWithIndex) {
          chunks(i) =
            hold.column(place).open(memory.getOrElseUpdate(place, new GrowingMemory))
        }
        val placed = filters.map { case (filter, place) => filter -> places.indexOf(place) }
        new ZoneScan(chunks, placed, RowGroupDeletes.None, selection, counters)
      } catch {
        case e: Throwable =>
          close()
          throw e
      }

    override def hasNext: Boolean = zones.remaining > 0 || zones.advanceToCandidate()

    override def next(): ColumnarBatch = {
      batch.setNumRows(zones.fill(vectors))
      batch
    }

    override def close(): Unit = {
      vectors.foreach(_.close())
      try chunks.foreach(chunk => if (chunk != null) chunk.close())
      finally hold.release()
    }
  }

  /** Rows of which no column is read. */
  private final class OpenCount(rows: Int) extends OpenBatch {
    private var isRead = false

    override def hasNext: Boolean = !isRead && rows > 0

    override def next(): ColumnarBatch = {
      isRead = true
      batch.setNumRows(rows)
      batch
    }

    override def close(): Unit = ()
  }

  private final class OpenRows(from: RowBatch) extends OpenBatch {
    private val parts = RowColumns.parts(from.rows, columns.map(c => c.dataType -> c.index))

    override def hasNext: Boolean = parts.hasNext

    override def next(): ColumnarBatch = parts.next()

    override def close(): Unit = ()
  }
}

private[dataframe] object BatchReads {

  /** The columns that a query wants of a cached DataFrame. */
  def columns(cached: Seq[Attribute], selected: Seq[Attribute]): Seq[ReadColumn] = {
    val places = cached.map(_.exprId).zipWithIndex.toMap
    selected.map(column =>
      ReadColumn(places(column.exprId), DataFrames.stored(column.dataType).get))
  }

  /** Reads a partition until its task ends. */
  def of(batches: Iterator[CachedBatch], columns: Seq[ReadColumn]): Iterator[ColumnarBatch] = {
    val reads = new BatchReads(batches, columns)
    TaskContext.get().addTaskCompletionListener[Unit](_ => reads.close())
    reads
  }

  /**
   * Reads a partition as rows; each is good until the next one is asked for. The bytes of a nested value
   * stand where the value is to stand.
   */
  def rowsOf(batches: Iterator[CachedBatch], columns: Seq[ReadColumn]): Iterator[InternalRow] = {
    // Binary values lie in a row as strings do. Spark copies a string from where it is, and makes an
    // array of a binary value before that.
    val unsafe = UnsafeProjection.create(columns.map(_.dataType match {
      case BinaryType => StringType
      case other => other
    }).toArray[DataType])
    of(batches, columns).flatMap(_.rowIterator().asScala).map(unsafe)
  }
}

/** Rows as columnar batches. */
private[dataframe] final class RowColumns(rows: Iterator[InternalRow], types: Array[DataType])
    extends Iterator[ColumnarBatch] {
  private lazy val unsafe = UnsafeProjection.create(types)

  override def hasNext: Boolean = rows.hasNext

  override def next(): ColumnarBatch = {
    val packed = new PackedRows(types.length)
    do packed.add(rows.next() match {
      case row: UnsafeRow => row
      case row => unsafe(row)
    })
    while (packed.count < VectorChunk.ZONE_ROWS && packed.isShort && rows.hasNext)
    RowColumns.parts(packed, types.zipWithIndex.toSeq).next()
  }
}

private object RowColumns {

  /**
   * Shows packed rows as columnar batches.
   *
   * @param columns types of those wanted, and their places in the rows
   */
  def parts(rows: PackedRows, columns: Seq[(DataType, Int)]): Iterator[ColumnarBatch] = {
    val vectors = columns.map { case (dataType, index) => new RowsVector(rows, index, dataType) }
    val batch = new ColumnarBatch(vectors.toArray[ColumnVector])
    (0 until rows.count by VectorChunk.ZONE_ROWS).iterator.map { first =>
      val some = math.min(VectorChunk.ZONE_ROWS, rows.count - first)
      vectors.foreach(_.select(first, some))
      batch.setNumRows(some)
      batch
    }
  }
}
