package io.oap.spark.dataframe

import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.columnar.CachedBatch

import io.oap.cache.vector.{VectorChunk, VectorEncoder}
import io.oap.common.FileId
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.vector.{FlatVector, VectorType, ZoneCopy}

/**
 * Makes batches of flat columns, one after the other. A column becomes a vector chunk in the pool, or
 * on the heap where the pool has no room. What cannot become vector chunks stays rows. For one task.
 */
private[dataframe] final class BatchEncoding(shape: BatchShape) extends Logging {
  import shape._

  private val forms = stored.toSeq.map(VectorType.of(_).get)
  private val pool = if (entersPool) ExecutorCache.get().map(_.owned) else None
  private lazy val zones = new ZoneCopy
  private lazy val memory = new GrowingMemory

  /** A batch of packed rows. */
  def batch(rows: PackedRows): CachedBatch = {
    val columns = stored.indices.map(i => new RowsVector(rows, i, stored(i)))
    columns.foreach(_.select(0, rows.count))
    encoded(rows.count, columns, rows.copy()) { (i, encoder) =>
      encode(columns(i), forms(i), rows.count, encoder)
    }
  }

  /**
   * A batch of columns.
   *
   * @param rows the columns' rows, where they have to be kept as such
   */
  def batch(count: Int, columns: Seq[ColumnCopy], rows: => PackedRows): CachedBatch =
    encoded(count, columns, rows)((i, encoder) => columns(i).encode(encoder))

  /** @param encode gives all values of a column, by its place, to an encoder */
  private def encoded(count: Int, columns: Seq[FlatVector], rows: => PackedRows)(
      encode: (Int, VectorEncoder) => Unit): CachedBatch = {
    val statistics = BatchStatistics.of(count, columns, forms)
    val made = ArrayBuffer.empty[StoredColumn]
    try {
      val id = OwnedKeys.newBatch()
      columns.indices.foreach(i => made += column(id, i)(encode(i, _)))
      VectorBatch.of(count, statistics, made.toArray)
    } catch {
      // What runs out is memory outside the heap.
      case e @ (NonFatal(_) | _: LinkageError | _: OutOfMemoryError) =>
        made.foreach(_.close())
        tell(e)
        new RowBatch(rows, statistics)
    }
  }

  private def column(id: FileId, index: Int)(encode: VectorEncoder => Unit): StoredColumn = {
    val encoder = new VectorEncoder(forms(index).kind)
    try {
      encode(encoder)
      store(id, index, encoder, encoder.finish())
    } finally encoder.close()
  }

  private def encode(
      rows: RowsVector,
      form: VectorType,
      count: Int,
      encoder: VectorEncoder): Unit =
    for (first <- 0 until count by VectorChunk.ZONE_ROWS) {
      val some = math.min(VectorChunk.ZONE_ROWS, count - first)
      rows.select(first, some)
      if (!zones.add(rows, form, some, encoder)) throw new TooLongException
    }

  private def store(id: FileId, index: Int, encoder: VectorEncoder, bytes: Long): StoredColumn =
    pool.flatMap(owned => Option(owned.put(OwnedKeys.column(id, index), encoder, bytes))) match {
      case Some(chunk) => new StoredColumn.InPool(chunk)
      case None =>
        val room = memory.of(bytes)
        encoder.write(room, bytes)
        val copy = new Array[Byte](bytes.toInt)
        room.buffer.get(0, copy)
        new StoredColumn.OnHeap(copy)
    }

  private def tell(why: Throwable): Unit = why match {
    case _: TooLongException =>
    case _ =>
      if (BatchEncoding.hasWarned.compareAndSet(false, true)) {
        logWarning("A batch of a cached DataFrame is kept as rows; others that are will not be " +
          s"told: ${why.getMessage}")
      }
      logDebug("Why a batch is kept as rows", why)
  }
}

/** The values of a zone are longer than what is copied for an encoder. */
private final class TooLongException extends RuntimeException

private object BatchEncoding {
  private val hasWarned = new AtomicBoolean
}
