package io.oap.spark.executor

import java.io.IOException
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.spark.rpc.{
  ReportingThread,
  ResidencyDelta,
  ResidencyReply,
  ServiceNames,
  SparkRpc,
  Wire
}

/**
 * Keeps the driver informed of what this executor's pool holds, from a thread of its own.
 *
 * It looks a few times a second whether anything has come or gone, and reports at most as often;
 * less often where listing a large pool takes long, so that it never uses more than a small share
 * of one core. While the driver does not answer it tries ever more rarely. Where the driver does not
 * know all of it any more, it asks, and all of it is reported anew.
 */
private final class ResidencyReporter(environment: SparkEnv, cache: ColumnCache)
    extends Logging {
  import ResidencyReporter._

  private val tracker = new ResidencyTracker(
    environment.executorId,
    id => Option(cache.files.get(id)),
    FilesPerReport,
    BytesPerReport)
  // Set by the driver's request, taken by the thread.
  private val isAskedAnew = new AtomicBoolean
  private val service = new ExecutorService(cache, () => isAskedAnew.set(true))
  private val thread = new ReportingThread("oap-residency", LeastPauseMillis, report)
  private var driver: Option[SparkRpc.Peer] = None
  private var self: Option[SparkRpc.Peer] = None
  private var reportedVersion = -1L

  def start(): Unit = thread.start()

  def stop(): Unit = thread.stop()

  private def report(pause: Long): Long = {
    if (isAskedAnew.getAndSet(false)) {
      tracker.beginAnew()
      reportedVersion = -1
    }
    if (cache.contentVersion() == reportedVersion) pause
    else {
      val begun = System.nanoTime()
      val isComplete = tryReport()
      val took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun)
      if (isComplete) math.max(LeastPauseMillis, took * PausePerWork)
      else math.min(2 * pause, MostPauseMillis)
    }
  }

  private def tryReport(): Boolean =
    try {
      val snapshot = cache.snapshot()
      val stats = cache.poolStats()
      val isComplete =
        tracker.report(snapshot, stats.capacityBytes, stats.usedBytes, loadBytesPerSecond)(send)
      if (isComplete) {
        reportedVersion = snapshot.version
      }
      isComplete
    } catch {
      case NonFatal(e) =>
        logDebug("The driver was not told what the pool holds; trying again", e)
        driver = None
        false
    }

  /** Of all readers of this process so far; 0 until they have read enough to tell. */
  private def loadBytesPerSecond: Double = {
    val totals = ExecutorCache.readTotals()
    if (totals.bytesFromFile < TellingBytes) 0
    else totals.bytesFromFile * 1e9 / math.max(1, totals.loadNanos)
  }

  @throws[IOException]
  private def send(delta: ResidencyDelta): ResidencyReply = {
    if (self.isEmpty) {
      self = Some(SparkRpc.serve(environment, ServiceNames.Executor, service))
    }
    if (driver.isEmpty) {
      driver = Some(SparkRpc.ofDriver(environment, ServiceNames.Residency))
    }
    Wire.decode[ResidencyReply](driver.get.ask(Wire.encode(delta), self.orNull, AnswerMillis))
  }
}

private object ResidencyReporter {
  private val LeastPauseMillis = 200L
  private val MostPauseMillis = 30000L

  /** The thread rests so many times as long as it has worked. */
  private val PausePerWork = 20L

  private val TellingBytes = 16L << 20

  private val AnswerMillis = 30000L

  /** A file's first report has a number for each of its column chunks: mostly some kilobytes. */
  private val FilesPerReport = 1000

  /** Far below what Spark lets a message have; files of thousands of columns come to more. */
  private val BytesPerReport = 4L << 20
}
