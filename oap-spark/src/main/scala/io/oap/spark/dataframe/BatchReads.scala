package io.oap.spark.dataframe

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.vector.VectorChunk
import io.oap.spark.vector.{ScanVector, VectorType}

/** A column that is read: its place in the batch, and its type. */
private[dataframe] final case class ReadColumn(index: Int, dataType: DataType)

/**
 * The batches of one partition as Spark's columnar ones, zone by zone. It is closed when the task has
 * ended; a thread that reads for the task and outlives it gets no more, as with readers of files.
 */
private[dataframe] final class BatchReads(batches: Iterator[CachedBatch], columns: Seq[ReadColumn])
    extends Iterator[ColumnarBatch] with AutoCloseable {
  private lazy val vectors = columns.map { column =>
    new ScanVector(
      column.dataType,
      VectorType.of(column.dataType).get.kind,
      VectorChunk.ZONE_ROWS)
  }
  private lazy val batch = new ColumnarBatch(vectors.toArray[ColumnVector])
  private lazy val memory = columns.map(_ => new GrowingMemory)
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
        case vectors: VectorBatch => new OpenVectors(vectors)
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
    isClosed = true
    open.foreach(_.close())
    open = None
  }

  private trait OpenBatch extends Iterator[ColumnarBatch] with AutoCloseable

  private final class OpenVectors(from: VectorBatch) extends OpenBatch {
    private val hold = from.use()
    private val chunks = new Array[VectorChunk](columns.size)
    private var row = 0

    try for (i <- columns.indices) {
        chunks(i) = hold.column(columns(i).index).open(memory(i))
      }
    catch {
      case e: Throwable =>
        close()
        throw e
    }

    override def hasNext: Boolean = row < from.numRows

    override def next(): ColumnarBatch = {
      val rows = math.min(VectorChunk.ZONE_ROWS, from.numRows - row)
      for (i <- columns.indices) {
        vectors(i).reset()
        vectors(i).append(chunks(i), row / VectorChunk.ZONE_ROWS, 0, rows, 0)
      }
      row += rows
      batch.setNumRows(rows)
      batch
    }

    override def close(): Unit = {
      vectors.foreach(_.close())
      try chunks.foreach(chunk => if (chunk != null) chunk.close())
      finally hold.release()
    }
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
    selected.map(column => ReadColumn(places(column.exprId), column.dataType))
  }

  /** Reads a partition until its task ends. */
  def of(batches: Iterator[CachedBatch], columns: Seq[ReadColumn]): Iterator[ColumnarBatch] = {
    val reads = new BatchReads(batches, columns)
    TaskContext.get().addTaskCompletionListener[Unit](_ => reads.close())
    reads
  }

  /** Reads a partition as rows; each is good until the next one is asked for. */
  def rowsOf(batches: Iterator[CachedBatch], columns: Seq[ReadColumn]): Iterator[InternalRow] = {
    val unsafe = UnsafeProjection.create(columns.map(_.dataType).toArray)
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
