package io.oap.spark

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.VectorChunks
import io.oap.cache.vector.{VectorChunk, VectorEncoder}
import io.oap.common.ChunkKey

/**
 * A chunk that is to become a vector chunk while it is decoded.
 *
 * @param column its place in the batches that Spark's reader gives
 * @param encodedBytes length of the encoded chunk
 * @param isHeld whether the encoded chunk lies in the pool
 */
private final case class PromotedChunk(
    column: Int,
    form: VectorForm,
    vector: ChunkKey,
    encoded: ChunkKey,
    encodedBytes: Long,
    isHeld: Boolean)

/**
 * Makes vector chunks of what Spark's reader decodes of one row group, and puts them into the pool
 * in place of the encoded ones once all rows have passed. A reader that passes over rows, or ends
 * early, makes none. A fault costs the vector chunk, nothing else. For one thread.
 *
 * @param rowCount rows of the row group
 */
private final class Promotion(
    chunks: Seq[PromotedChunk],
    rowCount: Long,
    vectors: VectorChunks,
    zone: => ZoneCopy)
    extends AutoCloseable
    with Logging {

  private var encoders: Seq[(PromotedChunk, VectorEncoder)] = Nil
  private var rowsSeen = 0L
  private var isOver = chunks.isEmpty

  /** Whether there is nothing to make. */
  def isEmpty: Boolean = chunks.isEmpty

  /** Whether the encoded chunks of all that is to be made lie in the pool. */
  def isOfHeldChunks: Boolean = !isEmpty && chunks.forall(_.isHeld)

  /** Takes the next batch of the reader. */
  def add(batch: ColumnarBatch): Unit = if (!isOver) {
    val rows = batch.numRows
    rowsSeen += rows
    if (rows < VectorChunk.ZONE_ROWS && rowsSeen < rowCount) {
      close()
    } else {
      attempt {
        if (encoders.isEmpty) open()
        encoders.foreach { case (chunk, encoder) =>
          zone.add(batch.column(chunk.column), chunk.form, rows, encoder)
        }
        keepWithin(Promotion.MostMemory)
        if (rowsSeen == rowCount) publish()
      }
    }
  }

  private def open(): Unit =
    chunks.foreach(chunk => encoders :+= chunk -> new VectorEncoder(chunk.form.kind))

  /** Gives up the largest until the others take no more than this; another scan may make those. */
  private def keepWithin(bytes: Long): Unit = {
    var taken = encoders.map { case one @ (_, encoder) => one -> encoder.memory }
    while (taken.map(_._2).sum > bytes) {
      val largest = taken.maxBy(_._2)
      largest._1._2.close()
      taken = taken.filterNot(_ eq largest)
    }
    encoders = taken.map(_._1)
    if (encoders.isEmpty) isOver = true
  }

  private def publish(): Unit = {
    encoders.foreach { case (chunk, encoder) =>
      vectors.put(chunk.vector, encoder, chunk.encoded, chunk.encodedBytes)
    }
    close()
  }

  private def attempt(body: => Unit): Unit =
    try body
    catch {
      // What runs out is memory outside the heap, which nothing but this has asked for.
      case e @ (NonFatal(_) | _: OutOfMemoryError) =>
        if (Promotion.hasWarned.compareAndSet(false, true)) {
          logWarning("A row group is not turned into vector chunks; others that are not will not " +
            s"be told: ${e.getMessage}")
        }
        logDebug("Why there are no vector chunks", e)
        close()
    }

  override def close(): Unit = {
    isOver = true
    encoders.foreach(_._2.close())
    encoders = Nil
  }
}

private object Promotion {

  /**
   * Bytes of native memory that a task takes at most. It is part of what a container leaves to the
   * JVM besides its heap, which Spark makes a tenth of the heap.
   */
  private val MostMemory = 128L << 20

  /** Whether this process has said that something is wrong. */
  private val hasWarned = new AtomicBoolean
}
