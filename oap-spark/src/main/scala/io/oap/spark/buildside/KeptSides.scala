package io.oap.spark.buildside

import java.util.concurrent.{
  CompletableFuture,
  ConcurrentHashMap,
  RejectedExecutionException,
  TimeoutException,
  TimeUnit
}
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import com.google.common.cache.{Cache, CacheBuilder, RemovalNotification}

import io.oap.spark.framescan.CachedRows
import io.oap.spark.rpc.Background

/** Rows that an earlier query has made ready for a join. */
private[spark] trait KeptSide {

  /** How much it takes of what the application may keep of its kind. */
  def bytes: Long

  /** Whether a query can have it still. */
  def isValid: Boolean
}

/**
 * The sides of one kind that an application keeps from query to query, all sessions together. One that
 * has not been used for the longest time leaves first. What leaves is only forgotten here: Spark's
 * cleaner removes its blocks and files once no query holds it either. Thread-safe.
 *
 * @param kind what to call sides of this kind
 * @param maxBytes how much they may have together
 * @param mostBytes how much one may have; what is larger than all may have leaves at once
 * @param entryBytes about what one takes beside its bytes
 * @param isServed whether a side may be kept still: the application runs, and its DataFrames are cached
 */
private[spark] final class KeptSides[S <: KeptSide](
    kind: String,
    maxBytes: Long,
    val mostBytes: Long,
    entryBytes: Long,
    isServed: BuildSideKey => Boolean = _ => true) {
  import KeptSides._

  private val hits = new LongAdder
  private val misses = new LongAdder
  private val evictions = new LongAdder

  // One segment: Guava divides the capacity among segments, and a side may need most of it.
  private val kept: Cache[BuildSideKey, S] = CacheBuilder
    .newBuilder()
    .concurrencyLevel(1)
    .maximumWeight(maxBytes / WeightBytes)
    .weigher[BuildSideKey, S]((key, side) => weight(key, side))
    .removalListener[BuildSideKey, S]((gone: RemovalNotification[BuildSideKey, S]) =>
      if (gone.wasEvicted) evictions.increment())
    .build()

  // Sides whose files are asked for once more before they are kept.
  private val checks = new ConcurrentHashMap[BuildSideKey, CompletableFuture[Unit]]

  /**
   * Returns the side of this key, unless there is none or it is not valid any more. Waits for one that
   * is about to be kept, as long as an answer of the store takes at most.
   */
  def find(key: BuildSideKey): Option[S] = {
    Option(checks.get(key)).foreach(awaitEnd)
    val found = Option(kept.getIfPresent(key)).filter { side =>
      val isValid = side.isValid
      if (!isValid) kept.asMap.remove(key, side)
      isValid
    }
    (if (found.isDefined) hits else misses).increment()
    found
  }

  /** Keeps a side, unless it is large or not served any more. */
  def keep(key: BuildSideKey, side: S): Unit = if (side.bytes <= mostBytes) {
    kept.put(key, side)
    // After the side is there, so that none slips past `forget` and `clear`.
    if (!isServed(key)) kept.invalidate(key)
  }

  /** Forgets the sides of a DataFrame that is not cached any more. */
  def forget(rows: CachedRows): Unit =
    kept.asMap.keySet.removeIf(_.frames.contains(rows)): Unit

  /**
   * Keeps a side if it is still as it should be then. That is asked on another thread, as a query has
   * what it wants already; not at all where too many are asked.
   */
  def keepIf(key: BuildSideKey, side: S)(isSame: => Boolean): Unit = {
    val end = new CompletableFuture[Unit]
    def done(): Unit = {
      checks.remove(key, end)
      end.complete(()): Unit
    }
    def check(): Unit =
      try if (isSame && (checks.get(key) eq end)) keep(key, side)
      finally done()
    if (checks.putIfAbsent(key, end) == null)
      try threads.execute(() => check())
      catch { case _: RejectedExecutionException => done() }
  }

  /** Waits for all that are about to be kept. */
  private[buildside] def settle(): Unit = checks.values.asScala.toSeq.foreach(awaitEnd)

  private def awaitEnd(check: CompletableFuture[Unit]): Unit =
    try check.get(FilesNow.PatienceSeconds, TimeUnit.SECONDS)
    catch { case _: TimeoutException => () }

  /** Forgets all of them, and those that are about to be kept. */
  def clear(): Unit = {
    checks.clear()
    kept.invalidateAll()
  }

  def figures: BuildSideFigures = {
    val sides = kept.asMap.values.asScala.toSeq
    BuildSideFigures(
      kind,
      sides.size,
      sides.iterator.map(_.bytes).sum,
      maxBytes,
      hits.sum,
      misses.sum,
      evictions.sum)
  }

  private def weight(key: BuildSideKey, side: S): Int =
    math.min((side.bytes + key.bytes + entryBytes) / WeightBytes, Int.MaxValue).toInt
}

/** What is kept now, and what was asked for since the application began. */
private[spark] final case class BuildSideFigures(
    kind: String,
    sides: Long,
    bytes: Long,
    capacityBytes: Long,
    hits: Long,
    misses: Long,
    evictions: Long)

private[spark] object KeptSides {
  private val WeightBytes = 1024

  /** Checks that wait for their turn; a burst beyond that is not kept this time. */
  private val MostChecks = 64

  private val threads = Background.threads("oap-build-side-%d", 2, MostChecks)
}
