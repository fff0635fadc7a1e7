package io.oap.spark.dataframe

import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

import com.google.common.hash.Hashing
import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.columnar.CachedBatch
import org.apache.spark.sql.types.DataType

import io.oap.cache.vector.{VectorChunk, VectorEncoder}
import io.oap.common.{ChunkKey, EntryKind, FileId}
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.vector.{VectorType, ZoneCopy}

/**
 * Makes batches of rows. A column becomes a vector chunk in the pool, or on the heap where the pool
 * has no room. Rows are packed first: where they cannot become vector chunks, be it that a value is
 * too long or that there is no native library, the batch keeps them as they are.
 *
 * @param types of the columns, flat ones
 * @param entersPool whether the pool is for them
 */
private[dataframe] final class BatchFill(types: Array[DataType], entersPool: Boolean)
    extends Serializable {

  /** The batches of one partition. */
  def batches(rows: Iterator[InternalRow]): Iterator[CachedBatch] = new Iterator[CachedBatch] {
    private lazy val unsafe = UnsafeProjection.create(types)
    private lazy val encoding = new BatchEncoding(types, entersPool)
    private val packed = new PackedRows(types.length)
    private var waiting: UnsafeRow = _ // is the caller's until the next one is asked for

    override def hasNext: Boolean = waiting != null || rows.hasNext

    override def next(): CachedBatch = {
      packed.clear()
      take()
      while (waiting != null && packed.hasRoomFor(waiting)) {
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

/** Turns packed rows into batches, one after the other. For one task. */
private final class BatchEncoding(types: Array[DataType], entersPool: Boolean) extends Logging {
  private val forms = types.toSeq.map(VectorType.of(_).get)
  private val pool = if (entersPool) ExecutorCache.get().map(_.owned) else None
  private lazy val zones = new ZoneCopy
  private lazy val memory = new GrowingMemory

  def batch(rows: PackedRows): CachedBatch = {
    val columns = types.indices.map(i => new RowsVector(rows, i, types(i)))
    val statistics = BatchStatistics.of(rows, columns, forms)
    val made = ArrayBuffer.empty[StoredColumn]
    try {
      val id = BatchEncoding.newBatch()
      columns.indices.foreach(i => made += column(id, i, columns(i), rows.count))
      VectorBatch.of(rows.count, statistics, made.toArray)
    } catch {
      // What runs out is memory outside the heap.
      case e @ (NonFatal(_) | _: LinkageError | _: OutOfMemoryError) =>
        made.foreach(_.close())
        tell(e)
        new RowBatch(rows.copy(), statistics)
    }
  }

  private def column(id: FileId, index: Int, rows: RowsVector, count: Int): StoredColumn = {
    val encoder = new VectorEncoder(forms(index).kind)
    try {
      for (first <- 0 until count by VectorChunk.ZONE_ROWS) {
        val some = math.min(VectorChunk.ZONE_ROWS, count - first)
        rows.select(first, some)
        if (!zones.add(rows, forms(index), some, encoder)) throw new TooLongException
      }
      store(id, index, encoder, encoder.finish())
    } finally encoder.close()
  }

  private def store(id: FileId, index: Int, encoder: VectorEncoder, bytes: Long): StoredColumn =
    pool.flatMap(owned => Option(owned.put(BatchEncoding.key(id, index), encoder, bytes))) match {
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
  private val batches = new AtomicLong

  /** The pool outlives applications, so that a number alone may come twice. */
  private def newBatch(): FileId = {
    val environment = SparkEnv.get
    val owner = s"cached batch ${environment.conf.getAppId} ${environment.executorId}"
    val hash = Hashing.sha256().hashUnencodedChars(owner)
    new FileId(hash.asLong(), batches.incrementAndGet())
  }

  /** The key of a column of a batch, which no file has. */
  private def key(batch: FileId, column: Int): ChunkKey =
    new ChunkKey(batch, 0, column, EntryKind.CACHED_BATCH.representation(0))
}
