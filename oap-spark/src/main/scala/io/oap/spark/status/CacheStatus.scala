package io.oap.spark.status

import scala.util.control.NonFatal

import com.google.common.cache.CacheBuilder
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler._

import io.oap.spark.internals.{PerSparkContext, SparkInternals}
import io.oap.spark.status.CacheSnapshot.Sample

/**
 * Keeps what is known of the column cache of an application, by the events on Spark's listener bus:
 * of a running application in its driver, of another when its event log is replayed. Thread-safe.
 *
 * @param isReplayed whether figures of executors come as events; those of a running application
 *     are accepted as they arrive, so that whoever has asked for them sees them
 */
private[spark] final class CacheStatus(isReplayed: Boolean) extends SnapshotListener {
  import CacheStatus._

  private val model = new StatusModel

  /** Numbers of the figures that each executor has told last, also of some that are gone. */
  private val numbers = CacheBuilder.newBuilder().maximumSize(StatusModel.MostLive.toLong)
    .build[String, java.lang.Long]().asMap()

  override def snapshot(): CacheSnapshot = model.synchronized(model.snapshot())

  /** The sums of the snapshot alone. */
  def totals: Sample = model.synchronized(model.sums)

  /**
   * Takes the figures of an executor of this application, unless it has told newer ones meanwhile.
   *
   * @return the event of it, for the event log: also of older ones, as those that an executor was
   *     asked for are not logged
   */
  def accept(told: ToldFigures): ExecutorSampled = model.synchronized {
    val sampled = new ExecutorSampled(System.currentTimeMillis(), told.report)
    if (told.number > numbers.getOrDefault(told.report.executor, 0L)) {
      numbers.put(told.report.executor, told.number)
      model.executorSampled(sampled.atMillis, told.report)
    }
    sampled
  }

  /**
   * The least time from one report of an executor to its next, so that many executors do not flood
   * Spark's listener bus and the event log.
   */
  def pauseMillis: Long = {
    val executors = model.synchronized(model.executorCount)
    math.max(PauseMillis, executors * 1000L / MostReportsPerSecond)
  }

  def executorAdded(id: String, host: String): Unit =
    model.synchronized(model.executorAdded(id, host))

  def executorRemoved(id: String): Unit = model.synchronized(model.executorRemoved(id))

  override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
    executorAdded(event.executorId, event.executorInfo.executorHost)

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
    executorRemoved(event.executorId)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case ended: ScanEnded => model.synchronized(model.scanEnded(ended.scan))
    case sampled: ExecutorSampled if isReplayed =>
      model.synchronized(model.executorSampled(sampled.atMillis, sampled.report))
    case _ => ()
  }
}

private[spark] object CacheStatus extends Logging {
  private val PauseMillis = 2000L
  private val MostReportsPerSecond = 50

  private val all = new PerSparkContext(begin)

  /** Returns the status of a running application, from its driver; it begins with the first call. */
  def of(context: SparkContext): CacheStatus = all.of(context)

  private def begin(context: SparkContext): CacheStatus = {
    val status = new CacheStatus(isReplayed = false)
    SparkInternals.addStatusListener(context, status)
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
