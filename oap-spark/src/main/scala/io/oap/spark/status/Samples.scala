package io.oap.spark.status

import java.util.{ArrayList, List => JavaList}

import io.oap.spark.status.CacheSnapshot.Sample

/**
 * Samples over time, as far apart as it takes to keep no more than so many: all of the past, ever
 * more coarsely. Since samples count from the start, those between may be left out. For one thread.
 *
 * @param most how many are kept, at least 2
 * @param leastMillis the least time from one to the next
 */
private final class Samples(most: Int, leastMillis: Long) {
  private var kept = new ArrayList[Sample]
  private var width = leastMillis

  /** Adds a sample, no older than the last; of those of the same time the last is kept. */
  def add(sample: Sample): Unit = {
    put(kept, sample)
    while (kept.size > most) {
      width *= 2
      val fewer = new ArrayList[Sample]
      kept.forEach(put(fewer, _))
      kept = fewer
    }
  }

  private def put(to: ArrayList[Sample], sample: Sample): Unit =
    if (!to.isEmpty && to.get(to.size - 1).atMillis / width == sample.atMillis / width) {
      to.set(to.size - 1, sample)
    } else {
      to.add(sample)
    }

  /** A copy, oldest first. */
  def all: JavaList[Sample] = new ArrayList(kept)
}
