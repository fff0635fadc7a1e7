package io.oap.spark.directory

import java.util.LinkedHashMap

/**
 * To which executors, for their pools, plans have sent pieces, by `Hash64.pieceKey`; those used
 * longest ago are forgotten first. Not safe for threads.
 *
 * @param limit number of pieces remembered
 */
final private class Assignments(limit: Int) {
  private val homes = new LinkedHashMap[java.lang.Long, KnownExecutor](16, 0.75f, true)

  /** An executor that is gone stands for those that have the pool that it had. */
  def get(key: Long): Option[KnownPool] =
    Option(homes.get(key)).map(_.pool).filter(_.isLive)

  def put(key: Long, executor: KnownExecutor): Unit = {
    homes.put(key, executor)
    if (homes.size > limit) {
      val oldest = homes.entrySet.iterator
      oldest.next()
      oldest.remove()
    }
  }

  def estimatedBytes: Long = homes.size * Assignments.BytesOfOne
}

private object Assignments {

  /** Entry, key and place in a linked hash map. */
  val BytesOfOne = 72L
}
