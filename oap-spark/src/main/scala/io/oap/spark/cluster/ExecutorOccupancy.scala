package io.oap.spark.cluster

import scala.collection.concurrent.TrieMap
import scala.collection.mutable

/**
 * How busy the executors are, as far as the events of tasks tell, to know whether a task that waits
 * for one of them is likely to wait long while others have nothing to do. Thread-safe.
 *
 * @param nanoTime a clock, as `System.nanoTime`
 * @param exclusionNanos after that time Spark gives tasks again to what it has excluded
 */
private[spark] final class ExecutorOccupancy(nanoTime: () => Long, exclusionNanos: Long) {
  import ExecutorOccupancy._

  private final class Slots(val host: String, count: Int) {
    private val stageOfTask = mutable.LongMap.empty[Int]
    private val stays = mutable.HashMap.empty[Int, Stay]
    private var fullUntil = nanoTime() - 2 * ShortNanos

    def started(task: Long, stage: Int): Unit = synchronized {
      val now = nanoTime()
      stays.filterInPlace((_, stay) => stay.isStill(now))
      stays.getOrElseUpdate(stage, new Stay(now)).tasks += 1
      stageOfTask.update(task, stage)
    }

    def ended(task: Long): Unit = synchronized {
      val now = nanoTime()
      if (isFull) {
        fullUntil = now
      }
      for (stage <- stageOfTask.remove(task); stay <- stays.get(stage)) {
        stay.tasks -= 1
        stay.left = now
      }
    }

    def stageEnded(stage: Int): Unit = synchronized {
      stageOfTask.filterInPlace((_, of) => of != stage)
      stays.remove(stage)
    }

    /** Ids, the oldest first. */
    def tasks: Seq[Long] = synchronized(stageOfTask.keys.toSeq.sorted)

    private def isFull: Boolean = stageOfTask.size >= count

    /**
     * For how long all slots have been taken; by the stage that came last, which may be the first
     * to give one back. A slot that is taken again at once was not free.
     */
    def busyNanos: Long = synchronized {
      val now = nanoTime()
      val since = stays.values.filter(_.isStill(now)).map(_.since)
      if (since.nonEmpty && (isFull || now - fullUntil <= ShortNanos)) now - since.max else 0
    }
  }

  /** Since when a stage has had slots of an executor without a break. */
  private final class Stay(val since: Long) {
    var tasks = 0
    var left = 0L
    def isStill(now: Long): Boolean = tasks > 0 || now - left <= ShortNanos
  }

  private val executors = TrieMap.empty[String, Slots]

  // Asked for by every task of a stage; racing threads take the same.
  @volatile private var waits = Map.empty[String, Double]
  @volatile private var waitsTaken = nanoTime() - 2 * ShortNanos

  /** Executors and hosts to which Spark gives no tasks, after failures, and since when. */
  private val excludedSince = TrieMap.empty[String, Long]

  /** An executor that can run so many tasks at a time. */
  def executorJoined(id: String, host: String, slots: Int): Unit =
    executors(id) = new Slots(host, slots)

  /** Spark gives no tasks to the executor of this id, or those on the host of this name. */
  def excluded(name: String): Unit = excludedSince(name) = nanoTime()

  def included(name: String): Unit = excludedSince.remove(name)

  def executorLost(id: String): Unit = executors.remove(id)

  def taskStarted(executor: String, task: Long, stage: Int): Unit =
    executors.get(executor).foreach(_.started(task, stage))

  def taskEnded(executor: String, task: Long): Unit =
    executors.get(executor).foreach(_.ended(task))

  /** The stage has no tasks any more, whatever has been heard of them: events can be lost. */
  def stageEnded(stage: Int): Unit =
    executors.values.foreach(_.stageEnded(stage))

  /**
   * Takes the oldest tasks for ended where Spark runs fewer than are known.
   *
   * @param running how many tasks executors have now
   */
  def compare(running: => Map[String, Int]): Unit = {
    // In this order: what begins in between is not among those that may have ended.
    val known = executors.toSeq.map { case (id, slots) => (id, slots, slots.tasks) }
    val now = running
    for ((id, slots, tasks) <- known; count <- now.get(id))
      tasks.dropRight(count).foreach(slots.ended)
  }

  /**
   * How much longer a task that wants to run there is expected to wait than where it would wait
   * least; 0 where a slot is free, infinite where Spark gives no tasks at all. A stage that has had
   * the slots for long is taken to keep them for as long again. Costs little when asked for many
   * tasks.
   */
  def expectedWaitSeconds(executor: String): Double = {
    val now = nanoTime()
    if (now - waitsTaken > ShortNanos) {
      waits = waitsNow()
      waitsTaken = now
    }
    if (excludedSince.nonEmpty && isExcluded(executor, now)) Double.PositiveInfinity
    else waits.getOrElse(executor, 0.0)
  }

  private def isExcluded(executor: String, now: Long): Boolean =
    (Seq(executor) ++ executors.get(executor).map(_.host)).exists { name =>
      // Of the end no event may come: events can be lost.
      excludedSince.get(name).exists(now - _ < exclusionNanos)
    }

  private def waitsNow(): Map[String, Double] = {
    val busy = executors.map { case (id, slots) => id -> slots.busyNanos }
    val least = busy.values.minOption.getOrElse(0L)
    busy.map { case (id, nanos) => id -> (nanos - least) / 1e9 }.toMap
  }
}

private[spark] object ExecutorOccupancy {

  /** Longer than the scheduler takes to fill a slot, shorter than a stage worth waiting for. */
  private val ShortNanos = 50L * 1000 * 1000
}
