package io.oap.spark.executor

import scala.collection.mutable.ArrayBuffer

/**
 * Divides paths among requests, each of which the driver holds once for every executor until it is
 * sent: a table may name all of its files.
 */
private[spark] object PathSlices {

  /**
   * Characters of one slice, unless it is a single path. For each slice an executor lists its chunks,
   * so there are not to be many.
   */
  val MostChars: Int = 1 << 20

  /** Slices paths in their order. Without any there is one slice, an empty one. */
  def of(paths: Iterable[String]): IndexedSeq[Seq[String]] = {
    val slices = ArrayBuffer(ArrayBuffer.empty[String])
    var chars = 0
    for (path <- paths) {
      if (chars > 0 && chars + path.length > MostChars) {
        slices += ArrayBuffer.empty
        chars = 0
      }
      slices.last += path
      chars += path.length
    }
    slices.map(_.toSeq).toIndexedSeq
  }
}
