package io.oap.spark.status

import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler._

import io.oap.spark.internals.{PerSparkContext, SparkInternals}
import io.oap.spark.status.CacheSnapshot.Sample

/**
 * Keeps what is known of the column cache of an application, by the events on Spark's listener bus:
 * of a running application in its driver, of another when its event log is replayed. Thread-safe.
 */
private[spark] final class CacheStatus extends SnapshotListener {
  private val model = new StatusModel

  override def snapshot(): CacheSnapshot = model.synchronized(model.snapshot())

  /** The sums of the snapshot alone. */
  def totals: Sample = model.synchronized(model.sums)

  /** How many executors there are. */
  def executorCount: Int = model.synchronized(model.executorCount)

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    executorAdded(event.executorId, event.executorInfo.executorHost)

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
    model.synchronized(model.executorRemoved(event.executorId))

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case ended: ScanEnded => model.synchronized(model.scanEnded(ended.scan))
    case sampled: ExecutorSampled =>
      model.synchronized(model.executorSampled(sampled.atMillis, sampled.report))
    case _ => ()
  }

  private def executorAdded(id: String, host: String): Unit =
    model.synchronized(model.executorAdded(id, host))
}

private[spark] object CacheStatus extends Logging {
  private val all = new PerSparkContext(begin)

  /** Returns the status of a running application, from its driver; it begins with the first call. */
  def of(context: SparkContext): CacheStatus = all.of(context)

  private def begin(context: SparkContext): CacheStatus = {
    val status = new CacheStatus
    SparkInternals.addStatusListener(context, status)
    // First the events, then those that are there: none is missed.
    SparkInternals.executors(context).forEach(e => status.executorAdded(e.id, e.host))
    if (!context.isLocal) {
      StatusService.start(SparkEnv.get, SparkInternals.post(context, _), () => status.executorCount)
    }
    status
  }

  /** What is only to be looked at may fail, as in a Spark that has changed inside. */
  def orWithout(what: String)(begin: => Unit): Unit =
    try begin
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        logWarning(s"The column cache goes on without its $what in Spark's monitoring: $e")
    }
}
