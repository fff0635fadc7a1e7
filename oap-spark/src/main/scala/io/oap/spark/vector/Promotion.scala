package io.oap.spark.vector

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ReadContext, VectorChunks}
import io.oap.cache.vector.{VectorChunk, VectorEncoder}
import io.oap.common.ChunkKey

/**
 * A chunk that is to become a vector chunk while it is decoded.
 *
 * @param column its place in the batches that Spark's reader gives
 * @param encodedBytes length of the encoded chunk
 * @param isHeld whether the encoded chunk lies in the pool or in the tier below it
 */
private[spark] final case class PromotedChunk(
    column: Int,
    form: VectorType,
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
private[spark] final class Promotion(
    chunks: Seq[PromotedChunk],
    rowCount: Long,
    vectors: VectorChunks,
    context: ReadContext,
    zone: => ZoneCopy)
    extends AutoCloseable
    with Logging {

  private var open = Vector.empty[OpenChunk]
  private var memory = 0L
  private var rowsSeen = 0L
  private var isOver = chunks.isEmpty

  /** Whether there is nothing to make. */
  def isEmpty: Boolean = chunks.isEmpty

  /** Whether the encoded chunks of all that is to be made lie in the pool or in the tier below it. */
  def isOfHeldChunks: Boolean = !isEmpty && chunks.forall(_.isHeld)

  /**
   * Drops those encoded chunks that are damaged in the pool, before they are read: the vector chunks
   * that are made of them would pass for sound. To be called where all rows are to be decoded.
   */
  def dropDamaged(): Unit =
    chunks.filter(_.isHeld).foreach(chunk => vectors.dropIfDamaged(chunk.encoded))

  /** Takes the next batch of the reader. */
  def add(batch: ColumnarBatch): Unit = if (!isOver) {
    val rows = batch.numRows
    rowsSeen += rows
    if (rows < VectorChunk.ZONE_ROWS && rowsSeen < rowCount) {
      close()
    } else {
      attempt {
        if (open.isEmpty) chunks.foreach(chunk => open :+= new OpenChunk(chunk))
        open.foreach(add(_, batch, rows))
        if (open.isEmpty) isOver = true
        else if (rowsSeen == rowCount) publish()
      }
    }
  }

  private def add(to: OpenChunk, batch: ColumnarBatch, rows: Int): Unit = if (to.isWanted) {
    val chunk = to.chunk
    if (zone.add(batch.column(chunk.column), chunk.form, rows, to.encoder)) {
      memory -= to.memory
      to.memory = to.encoder.memory
      memory += to.memory
      // The others may become vector chunks in another scan.
      while (memory > Promotion.MostEncoded) {
        val largest = open.maxBy(_.memory)
        giveUp(largest, isForGood = largest.memory > Promotion.MostEncoded)
      }
    } else {
      giveUp(to, isForGood = true)
    }
  }

  private def giveUp(one: OpenChunk, isForGood: Boolean): Unit = {
    one.encoder.close()
    one.isWanted = false
    memory -= one.memory
    open = open.filterNot(_ eq one)
    if (isForGood) vectors.refuse(one.chunk.vector)
  }

  private def publish(): Unit = {
    open.foreach { one =>
      val chunk = one.chunk
      vectors.put(chunk.vector, one.encoder, chunk.encoded, chunk.encodedBytes, context)
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
    open.foreach(_.encoder.close())
    open = Vector.empty
  }
}

/** A chunk of which some zones are encoded, the native memory that they take, and whether more follow. */
private final class OpenChunk(val chunk: PromotedChunk) {
  val encoder = new VectorEncoder(chunk.form.kind)
  var memory = 0L
  var isWanted = true
}

private[spark] object Promotion {

  /**
   * Bytes of native memory that a task takes at most. It is part of what a container leaves to the
   * JVM besides its heap, which Spark makes a tenth of the heap.
   */
  private val MostMemory = 128L << 20

  /** What encoded zones may take of it: besides, a zone lies there as a copy, and being encoded. */
  private val MostEncoded = MostMemory - 2 * ZoneCopy.MostBytes

  /** Whether this process has said that something is wrong. */
  private val hasWarned = new AtomicBoolean
}
