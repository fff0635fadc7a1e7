package io.oap.spark.executor

import java.io.IOException
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging

import io.oap.cache.ColumnCache
import io.oap.cache.pool.PoolSnapshot
import io.oap.spark.internals.SparkInternals
import io.oap.spark.rpc.{ResidencyDelta, ResidencyReply, ServiceNames, SparkRpc, Wire}
import io.oap.spark.status.{ExecutorReport, ToldFigures}

/**
 * Keeps the driver informed of what the cache of this executor holds, is and does, from a thread of
 * its own. In local mode the driver is this process and hears of it in the same way.
 *
 * It looks a few times a second whether anything has come or gone, and reports at most as often;
 * less often where listing a large pool takes long, so that it never uses more than a small share
 * of one core. Figures go with it when they have changed, no more often than the driver allows.
 * While the driver does not answer it tries ever more rarely. Where the driver does not know all of
 * the content any more, it asks, and all of it is reported anew. Of a cache that could not be
 * opened it is told that it takes nothing, so that no plan counts on it.
 *
 * @param cache the cache, unless it could not be opened
 */
private final class ExecutorReporter(environment: SparkEnv, cache: Option[ColumnCache])
    extends Logging {
  import ExecutorReporter._

  private val tracker = new ResidencyTracker(
    environment.executorId,
    cache.flatMap(opened => Option(opened.sharedHome)).map(_.toString),
    id => cache.flatMap(opened => Option(opened.files.get(id))),
    FilesPerReport,
    BytesPerReport
  )
  private val thread = new Thread(() => run(), "oap-reports")
  private val hasTried = new CountDownLatch(1)
  // Set by the driver's request, taken by the thread.
  private val isAskedAnew = new AtomicBoolean
  @volatile private var isStopped = false

  // Of the thread alone.
  private var driver: Option[SparkRpc.Peer] = None
  private var self: Option[SparkRpc.Peer] = None
  private var told: Option[ExecutorReport] = None
  private var figuresDue, residencyDue = System.nanoTime()
  private var reportedVersion = -1L

  /** Begins, and waits a moment for the first report: after it the driver can send requests. */
  def start(): Unit = {
    thread.setDaemon(true)
    thread.start()
    try hasTried.await(FirstReportMillis, TimeUnit.MILLISECONDS): Unit
    catch { case _: InterruptedException => Thread.currentThread().interrupt() }
  }

  def stop(): Unit = {
    isStopped = true
    thread.interrupt()
  }

  def reportAnew(): Unit = isAskedAnew.set(true)

  private def run(): Unit =
    try {
      var pause = LeastPauseMillis
      while (!isStopped && !SparkInternals.isStopped(environment)) {
        pause = if (isTold()) LeastPauseMillis else math.min(2 * pause, MostPauseMillis)
        hasTried.countDown()
        Thread.sleep(pause)
      }
    } catch {
      case _: InterruptedException => ()
    }

  /** Tells what there is to tell; false where the driver does not know all of it now. */
  private def isTold(): Boolean =
    try {
      if (isAskedAnew.getAndSet(false)) {
        tracker.beginAnew()
        reportedVersion = -1
      }
      val version = cache.fold(NoContent.version)(_.contentVersion())
      val isComplete =
        version == reportedVersion || !isDue(residencyDue) || reportContent()
      newFigures.foreach(figures => send(Some(figures), None))
      isComplete
    } catch {
      // Memory outside the heap may be short for a while. Spark ends an executor for it if nobody catches it.
      case e @ (NonFatal(_) | _: OutOfMemoryError) =>
        logDebug("The driver was not told of the column cache; trying again", e)
        driver = None
        false
    }

  private def reportContent(): Boolean = {
    val begun = System.nanoTime()
    val snapshot = cache.fold(NoContent)(_.snapshot())
    val stats = cache.map(_.poolStats())
    val isComplete = tracker.report(
      snapshot,
      stats.fold(0L)(_.capacityBytes),
      stats.fold(0L)(_.usedBytes),
      loadBytesPerSecond)(delta => send(newFigures, Some(delta)).get)
    if (isComplete) {
      reportedVersion = snapshot.version
      val now = System.nanoTime()
      residencyDue = now + (now - begun) * PausePerWork
    }
    isComplete
  }

  /** Figures that are to be told now. */
  private def newFigures: Option[ToldFigures] =
    if (isDue(figuresDue)) Some(ThisExecutor.tell()).filterNot(now => told.contains(now.report))
    else None

  private def isDue(nanos: Long): Boolean = System.nanoTime() - nanos >= 0

  /** Of all readers of this process so far; 0 until they have read enough to tell. */
  private def loadBytesPerSecond: Double = {
    val totals = ExecutorCache.readTotals()
    if (totals.bytesFromFile < TellingBytes) 0
    else totals.bytesFromFile * 1e9 / math.max(1, totals.loadNanos)
  }

  @throws[IOException]
  private def send(
      figures: Option[ToldFigures],
      residency: Option[ResidencyDelta]): Option[ResidencyReply] = {
    if (driver.isEmpty) {
      driver = Some(SparkRpc.ofDriver(environment, ServiceNames.Driver))
    }
    // A local driver serves the requests of its executor itself.
    if (self.isEmpty && !SparkInternals.isDriver(environment)) {
      self = Some(ExecutorService.serve(environment))
    }
    val report = Report(environment.executorId, figures, residency)
    val reply =
      Wire.decode[ReportReply](driver.get.ask(Wire.encode(report), self.orNull, AnswerMillis))
    if (figures.isDefined) {
      told = figures.map(_.report)
      figuresDue = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(reply.pauseMillis)
    }
    reply.residency
  }
}

private object ExecutorReporter {

  /** Of an executor without a pool. */
  private val NoContent = new PoolSnapshot(0, java.util.List.of())

  private val LeastPauseMillis = 200L
  private val MostPauseMillis = 30000L
  private val FirstReportMillis = 1000L

  /** Content is not reported for so many times as long as reporting it has taken. */
  private val PausePerWork = 20L

  private val TellingBytes = 16L << 20

  private val AnswerMillis = 30000L

  /** A file's first report has a number for each of its column chunks: mostly some kilobytes. */
  private val FilesPerReport = 1000

  /** Far below what Spark lets a message have; files of thousands of columns come to more. */
  private val BytesPerReport = 4L << 20
}
