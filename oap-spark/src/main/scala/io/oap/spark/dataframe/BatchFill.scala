package io.oap.spark.dataframe

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

import io.oap.cache.pool.NativeLibrary
import io.oap.cache.vector.VectorChunk
import io.oap.spark.vector.{OffHeapVector, VectorType}

/**
 * What batches are like.
 *
 * @param types of the columns
 * @param entersPool whether the pool is for them
 * @param mostRows of a batch
 */
private[dataframe] final case class BatchShape(
    types: Array[DataType],
    entersPool: Boolean,
    mostRows: Int) {

  /** The flat types as which the columns are kept. */
  lazy val stored: Array[DataType] = types.map(DataFrames.stored(_).get)
}

/** Makes batches of what a plan gives. */
private[dataframe] trait BatchFill[T] extends Serializable {

  /** The batches of one partition, which are made until the task ends. */
  def batches(input: Iterator[T], task: TaskContext): Iterator[CachedBatch]
}

/** Makes batches of rows, which are packed first. */
private[dataframe] final class RowsFill(shape: BatchShape) extends BatchFill[InternalRow] {
  import shape._

  override def batches(rows: Iterator[InternalRow], task: TaskContext): Iterator[CachedBatch] =
    new Iterator[CachedBatch] {
      private lazy val unsafe = UnsafeProjection.create(types)
      private lazy val encoding = new BatchEncoding(shape)
      private val packed = new PackedRows(types.length)
      private var waiting: UnsafeRow = _ // is the caller's until the next one is asked for

      override def hasNext: Boolean = waiting != null || rows.hasNext

      override def next(): CachedBatch = {
        packed.clear()
        take()
        while (waiting != null && packed.hasRoomFor(waiting, mostRows)) {
          packed.add(waiting)
          waiting = null
          take()
        }
        encoding.batch(packed)
      }

      private def take(): Unit = if (waiting == null && rows.hasNext) {
        waiting = rows.next() match {
          case row: UnsafeRow => row
          case row => unsafe(row)
        }
      }
    }
}

/**
 * Makes batches of columnar ones with flat columns, column by column. The columns are copied first,
 * so that they can still become rows.
 */
private[dataframe] final class ColumnsFill(shape: BatchShape) extends BatchFill[ColumnarBatch] {
  import shape._

  override def batches(
      input: Iterator[ColumnarBatch],
      task: TaskContext): Iterator[CachedBatch] = {
    val memory = new CopyMemory
    // Of the memory alone: a task may fill many partitions, and keeps its listeners until it ends.
    task.addTaskCompletionListener[Unit](_ => memory.close())
    try {
      NativeLibrary.ensureLoaded()
      val copies = types.map(t => new ColumnCopy(t, VectorType.of(t).get.kind, capacity, memory))
      new Copied(input, copies, memory)
    } catch {
      case NonFatal(_) | _: LinkageError | _: OutOfMemoryError =>
        memory.close()
        new RowsFill(shape).batches(input.flatMap(_.rowIterator().asScala), task)
    }
  }

  /** Rows of a batch. */
  private lazy val capacity: Int = {
    val bytes = types.map(t => OffHeapVector.rowBytes(VectorType.of(t).get.kind)).sum
    val zones = PackedRows.MOST_BYTES / math.max(bytes, 1) / VectorChunk.ZONE_ROWS
    math.min(math.max(zones, 1) * VectorChunk.ZONE_ROWS, mostRows)
  }

  private final class Copied(
      input: Iterator[ColumnarBatch],
      copies: Array[ColumnCopy],
      memory: CopyMemory)
      extends Iterator[CachedBatch] {
    private lazy val unsafe = UnsafeProjection.create(types)
    private lazy val encoding = new BatchEncoding(shape)
    private lazy val copied = new ColumnarBatch(copies.toArray[ColumnVector])
    private var current: ColumnarBatch = _
    private var row = 0 // the first of the current batch that was not taken

    override def hasNext: Boolean = {
      val isMore = hasMore
      if (!isMore) memory.close()
      isMore
    }

    private def hasMore: Boolean = {
      while ((current == null || row == current.numRows) && input.hasNext) {
        current = input.next()
        row = 0
      }
      current != null && row < current.numRows
    }

    override def next(): CachedBatch = {
      if (!hasMore) throw new NoSuchElementException
      copies.foreach(_.clear())
      var filled = 0
      var isFull = false
      while (!isFull && hasMore) {
        val most = math.min(capacity - filled, current.numRows - row)
        val taken = memory.use(() => take(most, filled))
        filled += taken
        row += taken
        isFull = taken == 0 || filled == capacity
      }
      if (filled == 0) longRow()
      else memory.use { () =>
        copies.foreach(_.seal())
        copied.setNumRows(filled)
        encoding.batch(filled, copies.toSeq, packed(copied.rowIterator().asScala))
      }
    }

    /** Copies so many rows, or less where they are long; says how many. */
    private def take(count: Int, filled: Int): Int = {
      val bytes = copies.map(_.bytes)
      if (append(count)) count
      else {
        copies.indices.foreach(i => copies(i).truncate(filled, bytes(i)))
        if (filled == 0 && count > 1) take(count / 2, filled) else 0
      }
    }

    private def append(count: Int): Boolean = {
      var left = PackedRows.MOST_BYTES - copies.map(_.bytes.toLong).sum
      try copies.indices.forall { i =>
          val before = copies(i).bytes
          val isAdded =
            copies(i).append(current.column(i), row, count, left + before)
          left -= copies(i).bytes - before
          isAdded
        }
      catch {
        case _: OutOfMemoryError => false // outside the heap
      }
    }

    /** A batch of one row, which is longer than a batch should be. */
    private def longRow(): CachedBatch = {
      val one = packed(Iterator(current.getRow(row)))
      row += 1
      encoding.batch(one)
    }

    private def packed(rows: Iterator[InternalRow]): PackedRows = {
      val packed = new PackedRows(types.length)
      rows.foreach(row => packed.add(unsafe(row)))
      packed
    }
  }
}
