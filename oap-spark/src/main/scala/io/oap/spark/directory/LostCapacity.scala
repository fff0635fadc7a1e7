package io.oap.spark.directory

import java.util.ArrayDeque

/**
 * Pools that were lost lately. As a rule an executor that is lost is started again; while that can
 * be expected, what it held should not push out what the others hold. Not safe for threads.
 *
 * @param nanoTime a clock as `System.nanoTime`
 */
final private class LostCapacity(nanoTime: () => Long) {
  private val losses = new ArrayDeque[LostCapacity.Loss]

  def lost(capacityBytes: Long): Unit =
    if (capacityBytes > 0) losses.add(LostCapacity.Loss(capacityBytes, nanoTime()))

  /** An executor has joined: it takes the place of the one lost first. Returns whether it has one. */
  def joined(): Boolean = {
    val isReplacing = bytes > 0
    losses.poll()
    isReplacing
  }

  /** Capacity of the pools that are still expected. */
  def bytes: Long = {
    val now = nanoTime()
    losses.removeIf(loss => now - loss.nanos > LostCapacity.PatienceNanos)
    var sum = 0L
    losses.forEach(loss => sum += loss.bytes)
    sum
  }
}

private object LostCapacity {

  /** After this time those that are left make the best of it. */
  private val PatienceNanos = 300L * 1000 * 1000 * 1000

  private final case class Loss(bytes: Long, nanos: Long)
}
