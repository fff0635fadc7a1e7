package io.oap.spark.read

import scala.util.control.NonFatal

import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.parquet.CachedParquetFile.RowGroup
import io.oap.cache.parquet.CachedParquetStream

/**
 * Batches of Spark's reader over row groups of a split, with their chunks taken from the cache. What
 * cannot be decoded may be damaged in the pool: then the damaged chunks are dropped, and the rest
 * of the split comes from the file. For one thread.
 *
 * Batches of that row group may have been handed over by then, and those may be wrong although they
 * could be decoded. So they are decoded again, out of the damaged chunks and out of the file. Where
 * both are the same rows, the next batch follows; else the task has to run again.
 *
 * @param schema what to read
 * @param filters filters of the query by which the reader may pass over rows, whole pages at a time
 * @param batchSize rows of a batch at most; no batch has rows of two row groups
 */
private[spark] final class ParquetBatches(
    split: ParquetSplit,
    groups: Seq[RowGroup],
    schema: StructType,
    filters: Array[Filter],
    batchSize: Int)
    extends DecodedBatches {

  // None: the rest comes from the file, whose faults are the file's.
  private var stream: Option[CachedParquetStream] = Some(split.cached.newStream())
  private var reader = split.reader(groups, schema, filters, batchSize, stream.get)
  private var group = -1 // the row group of the last batch
  private var handedOver = 0 // batches of it

  override def batch: ColumnarBatch = reader.resultBatch()

  override def next(): Boolean = {
    val found =
      try reader.nextBatch()
      catch {
        case e @ (NonFatal(_) | _: OutOfMemoryError | MemoryFault()) =>
          recover(e) && reader.nextBatch()
      }
    for (from <- stream) {
      handedOver = if (from.rowGroup == group) handedOver + 1 else 1
      group = from.rowGroup
    }
    found
  }

  override def dropDamaged(): Unit = stream.foreach(_.dropDamaged())

  /** Goes on behind the last batch in the file, or throws the error where no chunk is damaged. */
  private def recover(error: Throwable): Boolean = {
    val cached = stream.getOrElse(throw error)
    if (!cached.dropDamaged()) throw error
    val isBegun = cached.rowGroup == group
    val from = groups.dropWhile(_.ordinal != cached.rowGroup)
    val sound = split.reader(from, schema, filters, batchSize, split.cached.newStreamOfFile())
    try if (isBegun) passOver(sound, from.take(1), cached)
    catch {
      case e: Throwable =>
        sound.close()
        throw e
    }
    reader.close() // and the stream
    reader = sound
    stream = None
    true
  }

  /** Makes a reader pass over the batches that were handed over, if these were right. */
  private def passOver(
      sound: VectorizedParquetRecordReader,
      group: Seq[RowGroup],
      cached: CachedParquetStream): Unit = {
    val damaged = split.reader(group, schema, filters, batchSize, cached)
    try {
      val rows = new RowComparison(schema.map(_.dataType))
      for (_ <- 1 to handedOver) {
        damaged.nextBatch()
        sound.nextBatch()
        rows.requireSame(damaged.resultBatch(), sound.resultBatch())
      }
    } finally damaged.close()
  }

  override def close(): Unit = reader.close()
}

/** Compares rows that were handed over with what the file has. For one thread. */
private[spark] final class RowComparison(types: Seq[DataType]) {
  private val fromPool, inFile = UnsafeProjection.create(types.toArray)

  /** Fails the task, which then runs again, where rows of the first columns are not the same. */
  def requireSame(damaged: ColumnarBatch, sound: ColumnarBatch): Unit =
    if (!isSame(damaged, sound)) throw RowComparison.fault()

  private def isSame(damaged: ColumnarBatch, sound: ColumnarBatch): Boolean =
    try damaged.numRows == sound.numRows && (0 until sound.numRows).forall { row =>
        fromPool(damaged.getRow(row)) == inFile(sound.getRow(row))
      }
    catch { case NonFatal(_) => false } // as values may be no more than numbers of entries
}

private[spark] object RowComparison {

  /** What Spark does not take for a corrupt file. */
  def fault(): SparkException = new SparkException(
    "A column chunk was damaged in the pool, and rows of it were handed over before that was found " +
      "out; the chunk is dropped, and the task has to run again")
}
