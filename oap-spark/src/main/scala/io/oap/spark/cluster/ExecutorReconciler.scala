package io.oap.spark.cluster

import java.util.concurrent.atomic.AtomicLong

import io.oap.spark.internals.SparkInternals

/**
 * Holds the executors that Spark's events have told of against those that its scheduler knows, now
 * and then, and their tasks. Spark leaves out events when it has too many of them: an executor that
 * never seemed to join would get nothing to do, one that never seemed to leave would get its part
 * for ever, and one whose tasks never seemed to end would be passed over.
 * Thread-safe.
 *
 * @param known ids of those that events have told of
 * @param there ids of those that the scheduler knows
 * @param described those of which Spark tells host and cores
 * @param joined called with one that is there and was not known; twice does no harm
 * @param lost called with the id of one that was known and is not there
 * @param compareTasks has the tasks that events have told of held against those that run
 * @param nanoTime a clock as `System.nanoTime`
 */
private final class ExecutorReconciler(
    known: () => Set[String],
    there: () => Set[String],
    described: () => Seq[SparkInternals.Executor],
    joined: SparkInternals.Executor => Unit,
    lost: String => Unit,
    compareTasks: () => Unit,
    nanoTime: () => Long) {
  private val checkedAt = new AtomicLong(nanoTime())

  /** Compares both when that has not been done for a minute; called often. */
  def check(): Unit = {
    val before = checkedAt.get
    val now = nanoTime()
    if (now - before >= ExecutorReconciler.PeriodNanos && checkedAt.compareAndSet(before, now))
      compare()
  }

  private def compare(): Unit = {
    // In this order: one that is known is there already, since its event comes after.
    val knownNow = known()
    val thereNow = there()
    (knownNow -- thereNow).foreach(lost)
    described().filter(one => thereNow(one.id) && !knownNow(one.id)).foreach(joined)
    compareTasks()
  }
}

private object ExecutorReconciler {
  private val PeriodNanos = 60L * 1000 * 1000 * 1000
}
