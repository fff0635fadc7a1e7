package io.oap.spark.placement

import java.util.concurrent.ConcurrentHashMap

import scala.collection.concurrent.TrieMap
import scala.collection.mutable

/**
 * How busy the executors are, as far as the events of tasks tell, to know whether a task that waits
 * for one of them is likely to wait long while others have nothing to do. Thread-safe.
 *
 * @param nanoTime a clock, as `System.nanoTime`
 */
private[spark] final class ExecutorLoad(nanoTime: () => Long) {
  import ExecutorLoad._

  private final class Slots(val host: String, count: Int) {
    private val stageOfTask = mutable.LongMap.empty[Int]
    private var changed = nanoTime()
    private var fullSince = changed

    def change(update: mutable.LongMap[Int] => Unit): Unit = synchronized {
      val now = nanoTime()
      val wasFull = isFull
      update(stageOfTask)
      if (isFull != wasFull) {
        // A slot that is taken again at once was not free.
        if (isFull && now - changed > ShortNanos) {
          fullSince = now
        }
        changed = now
      }
    }

    private def isFull: Boolean = stageOfTask.size >= count

    /** For how long all slots have been taken, if they are. */
    def fullNanos: Option[Long] =
      synchronized(if (isFull) Some(nanoTime() - fullSince) else None)

    /** Whether it has had a free slot for longer than it takes to give it a task. */
    def isIdle: Boolean = synchronized(!isFull && nanoTime() - changed > ShortNanos)
  }

  private val executors = TrieMap.empty[String, Slots]

  // Asked for by every task of a stage; racing threads take the same.
  @volatile private var waits = Map.empty[String, Double]
  @volatile private var waitsTaken = nanoTime() - 2 * ShortNanos

  /** Executors and hosts to which Spark gives no tasks, after failures. */
  private val excludedNames = ConcurrentHashMap.newKeySet[String]()

  /** An executor that can run so many tasks at a time. */
  def executorJoined(id: String, host: String, slots: Int): Unit =
    executors(id) = new Slots(host, slots)

  /** Spark gives no tasks to the executor of this id, or those on the host of this name. */
  def excluded(name: String): Unit = excludedNames.add(name)

  def included(name: String): Unit = excludedNames.remove(name)

  def executorLost(id: String): Unit = executors.remove(id)

  def taskStarted(executor: String, task: Long, stage: Int): Unit =
    executors.get(executor).foreach(_.change(_.update(task, stage)))

  def taskEnded(executor: String, task: Long): Unit =
    executors.get(executor).foreach(_.change(_.remove(task)))

  /** The stage has no tasks any more, whatever has been heard of them: events can be lost. */
  def stageEnded(stage: Int): Unit =
    executors.values.foreach(_.change(_.filterInPlace((_, of) => of != stage)))

  /**
   * How long a task that wants to run there is expected to wait while others stand idle; 0 where
   * a slot is free, or where nobody is idle and the task would wait anywhere; infinite where Spark
   * gives no tasks at all. What has been full
   * for long is taken to stay so for as long again. Costs little when asked for many tasks.
   */
  def expectedWaitSeconds(executor: String): Double = {
    val now = nanoTime()
    if (now - waitsTaken > ShortNanos) {
      waits = waitsNow()
      waitsTaken = now
    }
    if (!excludedNames.isEmpty && isExcluded(executor)) Double.PositiveInfinity
    else waits.getOrElse(executor, 0.0)
  }

  private def isExcluded(executor: String): Boolean =
    excludedNames.contains(executor) ||
      executors.get(executor).exists(slots => excludedNames.contains(slots.host))

  private def waitsNow(): Map[String, Double] =
    if (!executors.values.exists(_.isIdle)) Map.empty
    else executors.flatMap { case (id, slots) => slots.fullNanos.map(n => id -> n / 1e9) }.toMap
}

private object ExecutorLoad {

  /** Longer than the scheduler takes to fill a slot, shorter than a stage worth waiting for. */
  private val ShortNanos = 50L * 1000 * 1000
}
