package io.oap.spark.directory

import io.oap.spark.placement.LiveExecutor

/**
 * What the Directory knows, in sums.
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

/** Bytes of a file's chunks that are held at all, and by more than one executor, each once. */
final private class DistinctBytes(file: FileChunks, isLive: Int => Boolean) {
  private val times = new Array[Int](file.chunkBytes.length)
  for (holder <- 0 until file.holders if isLive(file.slot(holder)))
    file.foreachHeld(holder)(chunk => times(chunk) += 1)

  val held: Long = bytes(1)
  val heldTwice: Long = bytes(2)

  private def bytes(atLeast: Int): Long = {
    var sum = 0L
    for (chunk <- times.indices if times(chunk) >= atLeast) sum += file.chunkBytes(chunk)
    sum
  }
}
