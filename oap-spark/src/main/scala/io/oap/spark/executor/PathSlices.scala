package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.cache.file.HeapRuns

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
  def of(paths: Iterable[String]): IndexedSeq[Seq[String]] =
    if (paths.isEmpty) IndexedSeq(Nil)
    else
      HeapRuns.of[String](paths.toSeq.asJava, _.length.toLong, MostChars.toLong).asScala
        .map(_.asScala.toSeq).toIndexedSeq
}
