package io.oap.spark.buildside

import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import com.google.common.cache.{Cache, CacheBuilder, RemovalNotification}
import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast

import io.oap.common.OapConfig
import io.oap.spark.internals.{PerSparkContext, SparkInternals}

/**
 * The relation of a broadcast, ready to be joined with.
 *
 * @param rows how many it was built from
 * @param bytes what Spark takes for its size
 */
private[spark] final case class BuildSide(broadcast: Broadcast[Any], rows: Long, bytes: Long)

/**
 * The build sides that an application keeps from query to query, all sessions together. One that
 * has not been used for the longest time leaves first. What leaves is only forgotten here: Spark's
 * cleaner removes its blocks once no query holds it either. Thread-safe.
 *
 * @param maxBytes how much they may have together
 */
private[spark] final class BuildSides(maxBytes: Long) {
  import BuildSides._

  private val hits = new LongAdder
  private val misses = new LongAdder
  private val evictions = new LongAdder

  // One segment: Guava divides the capacity among segments, and a side may need most of it.
  private val kept: Cache[BuildSideKey, BuildSide] = CacheBuilder
    .newBuilder()
    .concurrencyLevel(1)
    .maximumWeight(maxBytes / WeightBytes)
    .weigher[BuildSideKey, BuildSide]((_, side) => weight(side))
    .removalListener[BuildSideKey, BuildSide](
      (gone: RemovalNotification[BuildSideKey, BuildSide]) =>
        if (gone.wasEvicted) evictions.increment())
    .build()

  /** Returns the side of this key, unless there is none or somebody has destroyed its broadcast. */
  def find(key: BuildSideKey): Option[BuildSide] = {
    val found = Option(kept.getIfPresent(key)).filter { side =>
      val isValid = SparkInternals.isValid(side.broadcast)
      if (!isValid) kept.asMap.remove(key, side)
      isValid
    }
    (if (found.isDefined) hits else misses).increment()
    found
  }

  def keep(key: BuildSideKey, side: BuildSide): Unit = kept.put(key, side)

  /** Forgets all of them. */
  def clear(): Unit = kept.invalidateAll()

  def figures: BuildSideFigures = {
    val sides = kept.asMap.values.asScala.toSeq
    BuildSideFigures(
      sides.size,
      sides.iterator.map(_.bytes).sum,
      maxBytes,
      hits.sum,
      misses.sum,
      evictions.sum)
  }
}

/** What is kept now, and what was asked for since the application began. */
private[spark] final case class BuildSideFigures(
    sides: Long,
    bytes: Long,
    capacityBytes: Long,
    hits: Long,
    misses: Long,
    evictions: Long)

private[spark] object BuildSides {
  private val WeightBytes = 1024

  /** About what a key, the broadcast and its blocks take beside the relation. */
  private val EntryBytes = 16L << 10

  private def weight(side: BuildSide): Int =
    math.min((side.bytes + EntryBytes) / WeightBytes, Int.MaxValue).toInt

  private val all = new PerSparkContext(context =>
    new BuildSides(
      OapConfig.BUILDSIDES_MAX_SIZE.get(SparkInternals.confOf(context).getOption(_).orNull)))

  /** Returns the build sides of an application. */
  def of(context: SparkContext): BuildSides = all.of(context)
}
