package io.oap.spark.executor

import java.util.Locale
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import com.google.common.base.Suppliers
import org.apache.spark.SparkEnv

import io.oap.cache.ColumnCache
import io.oap.cache.pool.NativeLibrary
import io.oap.spark.status.{ExecutorReport, Figures, PoolReport, ToldFigures}
import io.oap.spark.status.CacheSnapshot.Sample

/** What the column cache of this process is and has done. */
private[spark] object ThisExecutor {

  private var lastNumber = 0L

  /** Makes the report for the driver. */
  def tell(): ToldFigures = synchronized {
    lastNumber += 1
    ToldFigures(lastNumber, report())
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
      Figures.of(ExecutorCache.readTotals()))
  }

  private def poolOf(cache: ColumnCache): PoolReport = {
    val options = cache.poolOptions
    new PoolReport(
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
