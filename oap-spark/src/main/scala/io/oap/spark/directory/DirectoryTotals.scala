package io.oap.spark.directory

import java.util.BitSet

import io.oap.spark.placement.LiveExecutor

/**
 * What the Directory knows, in sums. Executors that have one pool together count as one.
 *
 * @param executors by ascending id
 * @param files number of files known
 * @param heldBytes encoded bytes of the chunks that one executor or more hold, each once
 * @param heldTwiceBytes encoded bytes of the chunks that more than one executor holds, each once
 * @param estimatedBytes heap the Directory takes, about
 */
final case class DirectoryTotals(
    executors: Seq[ExecutorTotals],
    files: Int,
    heldBytes: Long,
    heldTwiceBytes: Long,
    estimatedBytes: Long)

/**
 * What the Directory knows of an executor, in sums.
 *
 * @param chunks number of chunks it holds of files that are known
 * @param chunkBytes their encoded bytes
 * @param lastReport number of its last report
 */
final case class ExecutorTotals(
    executor: LiveExecutor,
    chunks: Long,
    chunkBytes: Long,
    lastReport: Long)

/** Bytes of a file's chunks that are held at all, and in more than one pool, each once. */
final private class DistinctBytes(file: FileChunks, slots: Slots) {
  private val times = new Array[Int](file.chunkBytes.length)
  private val pools = (0 until file.holders).groupBy(holder => slots.pool(file.slot(holder)))
  for ((pool, holders) <- pools if pool != null) {
    val held = new BitSet
    holders.foreach(file.foreachHeld(_)(held.set(_)))
    held.stream.forEach(chunk => times(chunk) += 1)
  }

  val held: Long = bytes(1)
  val heldTwice: Long = bytes(2)

  private def bytes(atLeast: Int): Long = {
    var sum = 0L
    for (chunk <- times.indices if times(chunk) >= atLeast) sum += file.chunkBytes(chunk)
    sum
  }
}
