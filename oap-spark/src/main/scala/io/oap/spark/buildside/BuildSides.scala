package io.oap.spark.buildside

import java.lang.ref.WeakReference
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
import org.apache.spark.SparkContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.scheduler.{SparkListener, SparkListenerUnpersistRDD}

import io.oap.common.OapConfig
import io.oap.spark.dataframe.CachedRows
import io.oap.spark.internals.{PerSparkContext, SparkInternals}
import io.oap.spark.rpc.Background

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
 * @param areCached whether rows of a DataFrame are cached still
 */
private[spark] final class BuildSides(
    maxBytes: Long,
    areCached: CachedRows => Boolean = _ => true) {
  import BuildSides._

  private val hits = new LongAdder
  private val misses = new LongAdder
  private val evictions = new LongAdder

  // One segment: Guava divides the capacity among segments, and a side may need most of it.
  private val kept: Cache[BuildSideKey, BuildSide] = CacheBuilder
    .newBuilder()
    .concurrencyLevel(1)
    .maximumWeight(maxBytes / WeightBytes)
    .weigher[BuildSideKey, BuildSide]((key, side) => weight(key, side))
    .removalListener[BuildSideKey, BuildSide](
      (gone: RemovalNotification[BuildSideKey, BuildSide]) =>
        if (gone.wasEvicted) evictions.increment())
    .build()

  // Sides whose files are asked for once more before they are kept.
  private val checks = new ConcurrentHashMap[BuildSideKey, CompletableFuture[Unit]]

  /**
   * Returns the side of this key, unless there is none or somebody has destroyed its broadcast. Waits
   * for one that is about to be kept, as long as an answer of the store takes at most.
   */
  def find(key: BuildSideKey): Option[BuildSide] = {
    Option(checks.get(key)).foreach(awaitEnd)
    val found = Option(kept.getIfPresent(key)).filter { side =>
      val isValid = SparkInternals.isValid(side.broadcast)
      if (!isValid) kept.asMap.remove(key, side)
      isValid
    }
    (if (found.isDefined) hits else misses).increment()
    found
  }

  /** Keeps a side, unless it is of a DataFrame that has been uncached meanwhile. */
  def keep(key: BuildSideKey, side: BuildSide): Unit = {
    kept.put(key, side)
    // After the side is there, so that none slips past `forget`.
    if (!key.frames.forall(areCached)) kept.invalidate(key)
  }

  /** Forgets the sides of a DataFrame that is not cached any more. */
  def forget(rows: CachedRows): Unit =
    kept.asMap.keySet.removeIf(_.frames.contains(rows)): Unit

  /**
   * Keeps a side if it is still as it should be then. That is asked on another thread, as a query has
   * what it wants already; not at all where too many are asked.
   */
  def keepIf(key: BuildSideKey, side: BuildSide)(isSame: => Boolean): Unit = {
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

  /** Checks that wait for their turn; a burst beyond that is not kept this time. */
  private val MostChecks = 64

  private val threads = Background.threads("oap-build-side-%d", 2, MostChecks)

  /** About what the broadcast and its blocks take beside the relation. */
  private val EntryBytes = 16L << 10

  private def weight(key: BuildSideKey, side: BuildSide): Int =
    math.min((side.bytes + key.bytes + EntryBytes) / WeightBytes, Int.MaxValue).toInt

  private val all = new PerSparkContext(begin)

  private def begin(context: SparkContext): BuildSides = {
    // Sides are kept for as long as their context is reachable.
    val weak = new WeakReference(context)
    val sides = new BuildSides(
      OapConfig.BUILDSIDES_MAX_SIZE.get(SparkInternals.confOf(context).getOption(_).orNull),
      rows => Option(weak.get).exists(_.getPersistentRDDs.contains(rows.rdd))
    )
    PerSparkContext.listen(context)(new SparkListener {
      override def onUnpersistRDD(gone: SparkListenerUnpersistRDD): Unit =
        sides.forget(CachedRows(gone.rddId))
    })
    sides
  }

  /** Returns the build sides of an application. */
  def of(context: SparkContext): BuildSides = all.of(context)
}
