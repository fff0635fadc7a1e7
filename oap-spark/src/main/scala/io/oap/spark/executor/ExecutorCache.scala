package io.oap.spark.executor

import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkEnv, TaskContext}
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.pool.{Medium, NativeLibrary, PoolOptions}
import io.oap.cache.stats.CacheCounters
import io.oap.common.OapConfig
import io.oap.spark.internals.SparkInternals
import io.oap.spark.status.{CacheMetrics, CacheStatus}

/**
 * The column cache of this process, opened when a task first wants it, from the configuration the
 * executor was started with; no task waits for long until it is. It lives as long as the process,
 * across Spark applications in one JVM as long as their configuration of it is the same.
 * Thread-safe.
 */
object ExecutorCache extends Logging {

  /** @param cache the cache, or why there is none */
  private final case class Opened(
      environment: SparkEnv,
      settings: Map[String, String],
      cache: Either[String, ColumnCache],
      reporter: ExecutorReporter)

  private final class PoolLeftOut(why: String) extends RuntimeException(why)

  private val opened = new AtomicReference[Opened]()
  private val totals = new CacheCounters

  /**
   * Most pools open in less. Committing or erasing hundreds of gigabytes takes minutes, and so may
   * reopening what millions of chunks lie in; Spark's own reading is faster than a wait for that.
   */
  private val Patience = 10.seconds

  private val opening =
    new PatientOpening[SparkEnv, Either[String, ColumnCache]](Patience)(open)

  /**
   * The cache, or nothing when it cannot be had, or not yet; the reason was logged once. A thread of
   * a task keeps to the memory nodes of the cache from then on, if it has any.
   *
   * @throws InterruptedException when the thread is interrupted while it waits for the opening
   */
  def get(): Option[ColumnCache] = {
    val environment = SparkEnv.get
    val cache = openedFor(environment).orElse(opening.get(environment)).flatMap(_.toOption)
    if (TaskContext.get() != null) cache.foreach(_.numa.bindThread())
    cache
  }

  /** Why `get` has given nothing. */
  private[spark] def whyNone: String =
    ifOpened.flatMap(_.left.toOption).getOrElse("the column cache is still being opened")

  /** The cache, or why it cannot be had; nothing before a task of this application wanted it. */
  private[spark] def ifOpened: Option[Either[String, ColumnCache]] =
    openedFor(SparkEnv.get)

  private def openedFor(environment: SparkEnv): Option[Either[String, ColumnCache]] =
    Option(opened.get()).filter(_.environment eq environment).map(_.cache)

  /**
   * Gives the pool another capacity.
   *
   * @return a warning, which is logged as well, if the memory of this process is too small for it
   */
  private[spark] def resize(cache: ColumnCache, bytes: Long): Option[String] = {
    cache.resize(bytes)
    val conf = SparkEnv.get.conf
    val options = PoolOptions.of(settingsOf(conf).get(_).orNull)
    val warning = MemoryCheck.here(options, cache.poolStats.capacityBytes, conf)
    warning.foreach(logWarning(_))
    warning
  }

  private def open(environment: SparkEnv): Either[String, ColumnCache] = {
    val settings = settingsOf(environment.conf)
    val before = opened.get()
    val cache =
      if (before != null && before.settings == settings) before.cache
      else {
        Option(before).flatMap(_.cache.toOption).foreach(close)
        tryOpen(settings, environment.conf)
      }
    if (before != null) before.reporter.stop()
    val reporter = new ExecutorReporter(environment, cache.toOption)
    opened.set(Opened(environment, settings, cache, reporter))
    reporter.start()
    // The driver of a local application shows those of all its executors, which is this one.
    if (!SparkInternals.isDriver(environment)) {
      Outgoing.prepare(environment)
      CacheStatus.orWithout("metrics")(
        CacheMetrics.add(environment, ThisExecutor.recentSample))
    }
    cache
  }

  private def settingsOf(conf: SparkConf): Map[String, String] =
    conf.getAllWithPrefix(OapConfig.PREFIX).map { case (key, value) =>
      (OapConfig.PREFIX + key) -> value
    }.toMap

  private def tryOpen(
      settings: Map[String, String],
      conf: SparkConf): Either[String, ColumnCache] =
    try {
      val options = PoolOptions.of(settings.get(_).orNull)
      MemoryCheck.ofFooters(conf).foreach(logWarning(_))
      val smaller = MemoryCheck.smallerHere(options, conf)
      smaller.filter(_.bytes == 0).foreach(none => throw new PoolLeftOut(none.inWords))
      smaller.map(_.inWords).orElse(MemoryCheck.here(options, options.capacityBytes, conf))
        .foreach(logWarning(_))
      val fitting =
        settings ++ smaller.map(pool => OapConfig.POOL_SIZE.key -> pool.bytes.toString)
      val cache = ColumnCache.open(fitting.get(_).orNull)
      val isUnbound = options.medium != Medium.NODE && cache.poolOptions.nodes == 0
      val unbound = if (isUnbound) ", bound to no memory node" else ""
      logInfo(s"Column cache opened: a pool of ${cache.poolStats().capacityBytes()} bytes in " +
        s"${cache.poolOptions.place()}$unbound, native library ${NativeLibrary.version()}")
      Right(cache)
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logWarning(
          s"The column cache is off in this process, queries read files as Spark alone does: " +
            e.getMessage)
        logDebug("Why the column cache could not be opened", e)
        Left(String.valueOf(e.getMessage))
    }

  private def close(cache: ColumnCache): Unit =
    try {
      cache.close()
      logInfo("Column cache of the former application closed")
    } catch {
      case NonFatal(e) => logWarning(s"The former column cache stays open: ${e.getMessage}")
    }

  /** Has the driver told of all that the pool holds, soon. */
  private[spark] def reportAnew(): Unit = Option(opened.get()).foreach(_.reporter.reportAnew())

  /** Empties the cache if this process has one, be it of a former application. */
  private[spark] def clear(): Unit =
    Option(opened.get()).flatMap(_.cache.toOption).foreach(_.clear())

  private[spark] def addTotals(counters: CacheCounters): Unit =
    totals.synchronized(totals.add(counters))

  /** What all readers of this process have counted so far; a copy. */
  def readTotals(): CacheCounters = totals.synchronized {
    val copy = new CacheCounters
    copy.add(totals)
    copy
  }
}
