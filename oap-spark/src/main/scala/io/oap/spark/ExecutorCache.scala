package io.oap.spark

import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.internal.Logging

import io.oap.cache.{CacheCounters, ColumnCache}
import io.oap.common.OapConfig

/**
 * The column cache of this process, opened when a task first wants it, from the configuration the
 * executor was started with. It lives as long as the process, across Spark applications in one
 * JVM as long as their configuration of it is the same. Thread-safe.
 */
object ExecutorCache extends Logging {

  private final case class Opened(
      environment: SparkEnv,
      settings: Map[String, String],
      cache: Option[ColumnCache])

  private val opened = new AtomicReference[Opened]()
  private val totals = new CacheCounters

  /** The cache, or nothing when it cannot be had; the reason was logged once. */
  def get(): Option[ColumnCache] = {
    val environment = SparkEnv.get
    val now = opened.get()
    if (now != null && (now.environment eq environment)) now.cache else open(environment)
  }

  private def open(environment: SparkEnv): Option[ColumnCache] = synchronized {
    val settings = settingsOf(environment.conf)
    val before = opened.get()
    val cache =
      if (before != null && before.settings == settings) before.cache
      else {
        Option(before).flatMap(_.cache).foreach(close)
        tryOpen(settings)
      }
    opened.set(Opened(environment, settings, cache))
    cache
  }

  private def settingsOf(conf: SparkConf): Map[String, String] =
    conf.getAllWithPrefix(OapConfig.PREFIX).map { case (key, value) =>
      (OapConfig.PREFIX + key) -> value
    }.toMap

  private def tryOpen(settings: Map[String, String]): Option[ColumnCache] =
    try {
      val cache = ColumnCache.open(settings.get(_).orNull)
      logInfo(s"Column cache opened: ${cache.poolStats().capacityBytes()} bytes of pool")
      Some(cache)
    } catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logWarning(
          s"The column cache is off in this process, queries read files as Spark alone does: " +
            e.getMessage)
        logDebug("Why the column cache could not be opened", e)
        None
    }

  private def close(cache: ColumnCache): Unit =
    try cache.close()
    catch { case NonFatal(e) => logWarning(s"The former column cache stays open: ${e.getMessage}") }

  /** Empties the cache if this process has one. */
  private[spark] def clear(): Unit = Option(opened.get()).flatMap(_.cache).foreach(_.clear())

  private[spark] def addTotals(counters: CacheCounters): Unit =
    totals.synchronized(totals.add(counters))

  /** What all readers of this process have counted so far; a copy. */
  def readTotals(): CacheCounters = totals.synchronized {
    val copy = new CacheCounters
    copy.add(totals)
    copy
  }
}
