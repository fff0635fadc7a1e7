package io.oap.spark.status

import org.apache.spark.SparkEnv

import io.oap.spark.rpc.{ServiceNames, SparkRpc, Wire}

/**
 * Takes the reports of executors, in the driver, and posts them as events. Each answer tells the
 * executor when to report again at the soonest, so that many executors do not flood Spark's
 * listener bus and the event log.
 */
private[spark] object StatusService {

  /** The least time from one report of an executor to its next. */
  val PauseMillis = 2000L

  private val MostReportsPerSecond = 50

  /**
   * Begins to take reports.
   *
   * @param executors how many there are now
   */
  def start(environment: SparkEnv, post: ExecutorSampled => Unit, executors: () => Int): Unit =
    SparkRpc.serve(
      environment,
      ServiceNames.Status,
      (request, _) => {
        post(sampled(Wire.decode[ExecutorReport](request)))
        Wire.encode[Long](pauseMillis(executors()))
      })

  def sampled(report: ExecutorReport): ExecutorSampled =
    new ExecutorSampled(System.currentTimeMillis(), report)

  def pauseMillis(executors: Int): Long =
    math.max(PauseMillis, executors * 1000L / MostReportsPerSecond)
}
