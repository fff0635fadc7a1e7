package io.oap.spark.status

import scala.collection.mutable

/**
 * Which figures of executors become events, and so lines of the event log: of each executor some a
 * minute apart, and the last ones when it goes or the application ends. Executors tell more often,
 * and Spark's compaction of rolling event logs keeps all events that it does not know. Thread-safe.
 *
 * @param post takes an event
 */
private[spark] final class LoggedSamples(post: ExecutorSampled => Unit) {
  import LoggedSamples._

  /** Of each executor when one was logged, and what has come since. */
  private val executors = mutable.HashMap.empty[String, (Long, Option[ExecutorSampled])]

  def add(sampled: ExecutorSampled): Unit = synchronized {
    val id = sampled.report.executor
    executors.get(id) match {
      // A clock may be set back.
      case Some((logged, _)) if math.abs(sampled.atMillis - logged) < PauseMillis =>
        executors(id) = (logged, Some(sampled))
      case _ =>
        executors(id) = (sampled.atMillis, None)
        post(sampled)
    }
  }

  def executorRemoved(id: String): Unit = synchronized {
    executors.remove(id).flatMap(_._2).foreach(post)
  }

  def applicationEnded(): Unit = synchronized {
    executors.keys.toSeq.foreach(executorRemoved)
  }
}

private object LoggedSamples {
  val PauseMillis = 60000L
}
