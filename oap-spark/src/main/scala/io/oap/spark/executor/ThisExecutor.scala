package io.oap.spark.executor

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.google.common.base.Suppliers
import org.apache.spark.SparkEnv

import io.oap.cache.ColumnCache
import io.oap.cache.pool.NativeLibrary
import io.oap.common.NodeNumbers
import io.oap.spark.status.{ExecutorReport, Figures, MemoryReport, PoolReport, ToldFigures}
import io.oap.spark.status.CacheSnapshot.Sample

/** What the column cache of this process is and has done. */
private[spark] object ThisExecutor {

  private val OftenNanos = TimeUnit.SECONDS.toNanos(5)
  private val RarelyNanos = TimeUnit.MINUTES.toNanos(1)

  /** Where the memory lay at a time. */
  private final case class Looked(cache: ColumnCache, memory: MemoryReport, nanos: Long)

  private var lastNumber = 0L
  @volatile private var looked = Option.empty[Looked]

  /** Makes the report that goes to the driver from time to time. */
  def tell(): ToldFigures =
    numbered(openCache.filter(_.numa.nodes != 0).foreach(look(_, RarelyNanos)))

  /** Makes the report for a driver whose user has asked. */
  def answer(): ToldFigures = numbered(openCache.foreach(look(_, OftenNanos)))

  private def numbered(first: => Unit): ToldFigures = synchronized {
    first
    lastNumber += 1
    ToldFigures(lastNumber, report())
  }

  private def openCache: Option[ColumnCache] = ExecutorCache.ifOpened.flatMap(_.toOption)

  /** Looks where the memory lies, unless that was done a short time ago: it takes long. */
  private def look(cache: ColumnCache, leastNanos: Long): Unit =
    if (!looked.exists(last =>
        (last.cache eq cache) && System.nanoTime() - last.nanos < leastNanos)) {
      val found = cache.memoryOnNodes
      val memory = new MemoryReport(NodeNumbers.text(cache.numa.nodes), found.heap, found.rest)
      looked = Some(Looked(cache, memory, System.nanoTime()))
    }

  /** Opens no cache. */
  def report(): ExecutorReport = {
    val (state, why, pool) = ExecutorCache.ifOpened match {
      case None => (ExecutorReport.UNUSED, null, null)
      case Some(Left(reason)) => (ExecutorReport.OFF, reason, null)
      case Some(Right(cache)) =>
        val fault = Option(cache.chunks.fault).map(_.toString)
        val state = if (fault.isDefined) ExecutorReport.OFF else ExecutorReport.OPEN
        (state, fault.orNull, poolOf(cache))
    }
    val environment = SparkEnv.get
    new ExecutorReport(
      environment.executorId,
      environment.blockManager.blockManagerId.host,
      state,
      why,
      pool,
      Figures.of(ExecutorCache.readTotals()),
      looked.filter(last => openCache.exists(_ eq last.cache)).map(_.memory).orNull
    )
  }

  private def poolOf(cache: ColumnCache): PoolReport = {
    val options = cache.poolOptions
    new PoolReport(
      Option(cache.sharedHome).map(_.toString).orNull,
      options.medium.toString.toLowerCase(Locale.ROOT),
      options.paths.asScala.mkString(","),
      cache.bytesOnNodes,
      Figures.of(cache.poolStats),
      NativeLibrary.version(),
      cache.estimates
    )
  }

  /** Sums as of now, for metrics. Each metric of a report asks, so they are made anew after a while only. */
  val recentSample: () => Sample = {
    val recent = Suppliers.memoizeWithExpiration[Sample](
      () => new Sample(System.currentTimeMillis(), 1, report().figures),
      500,
      TimeUnit.MILLISECONDS)
    () => recent.get()
  }
}
