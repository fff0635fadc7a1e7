package io.oap.spark.directory

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
