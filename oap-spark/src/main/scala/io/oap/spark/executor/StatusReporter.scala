package io.oap.spark.executor

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.apache.spark.internal.Logging

import io.oap.spark.internals.SparkInternals
import io.oap.spark.rpc.{ReportingThread, ServiceNames, SparkRpc, Wire}
import io.oap.spark.status.{ExecutorReport, StatusService}

/**
 * Keeps the driver informed of what the column cache of this executor is and does, from a thread of
 * its own: when something has changed, and no more often than the driver allows. While the driver
 * does not answer it tries ever more rarely.
 */
private final class StatusReporter(environment: SparkEnv) extends Logging {
  import StatusReporter._

  private val thread = new ReportingThread("oap-status", StatusService.PauseMillis, report)
  private var told: Option[ExecutorReport] = None
  private var driver: Option[SparkRpc.Peer] = None

  def start(): Unit = thread.start()

  def stop(): Unit = thread.stop()

  private def report(pause: Long): Long =
    try {
      val report = ThisExecutor.report()
      if (told.contains(report)) pause
      else {
        val next = send(report)
        told = Some(report)
        next
      }
    } catch {
      case NonFatal(e) =>
        logDebug("The driver was not told of the column cache; trying again", e)
        driver = None
        math.min(2 * pause, MostPauseMillis)
    }

  /** Returns how long to wait before the next report. */
  private def send(report: ExecutorReport): Long =
    if (SparkInternals.isDriver(environment)) {
      SparkInternals.activeContext().foreach(context =>
        SparkInternals.post(context, StatusService.sampled(report)))
      StatusService.PauseMillis
    } else {
      if (driver.isEmpty) {
        driver = Some(SparkRpc.ofDriver(environment, ServiceNames.Status))
      }
      Wire.decode[Long](driver.get.ask(Wire.encode(report), null, AnswerMillis))
    }
}

private object StatusReporter {
  private val MostPauseMillis = 30000L
  private val AnswerMillis = 30000L
}
