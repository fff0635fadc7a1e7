package io.oap.tpcds.cluster

import java.io.IOException
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.Random

/**
 * Kills, adds and pauses executors and workers at random, until it is closed; then all workers
 * that there were at first are there again.
 *
 * @param hosts hosts of the executors that are alive now
 */
final class Disturbance(
    control: Control,
    hosts: () => Seq[String],
    workers: Int,
    random: Random,
    say: String => Unit)
    extends AutoCloseable {
  private val end = new CountDownLatch(1)
  private var workersNow = workers
  private val thread = new Thread(() => while (!endsWithin(2 + random.nextInt(9))) disturb())
  thread.setDaemon(true)
  thread.start()

  private def endsWithin(seconds: Int): Boolean = end.await(seconds, TimeUnit.SECONDS)

  private def disturb(): Unit = {
    val alive = hosts()
    if (alive.nonEmpty) {
      val host = alive(random.nextInt(alive.length))
      try act(host)
      catch {
        // The driver may still list an executor whose worker is gone.
        case e: IOException if e.getMessage.contains("there is no worker") =>
      }
    }
  }

  private def act(host: String): Unit = random.nextInt(10) match {
    case 0 | 1 | 2 | 3 =>
      say(s"kill -9 of the executors on $host")
      control.kill(host, whole = false)
    case 4 | 5 if workersNow > 1 =>
      say(s"kill -9 of the worker and executors on $host")
      control.kill(host, whole = true)
      workersNow -= 1
    case 4 | 5 | 6 if workersNow <= workers =>
      say("a worker more")
      add()
    case _ => pause(host)
  }

  private def add(): Unit = {
    control.add()
    workersNow += 1
  }

  // Sometimes longer than Spark waits for an executor.
  private def pause(host: String): Unit = {
    val seconds =
      if (random.nextInt(4) == 0) 2 * Disturbance.NetworkTimeout else 1 + random.nextInt(6)
    say(s"executors on $host paused for $seconds s")
    control.pause(host)
    try endsWithin(seconds)
    finally control.resume(host)
  }

  override def close(): Unit = {
    end.countDown()
    thread.join()
    while (workersNow < workers) add()
  }
}

object Disturbance {

  /** Seconds after which Spark gives up an executor that says nothing. */
  val NetworkTimeout = 15

  /** What an application needs to go on, and not to keep more the longer it runs. */
  val Settings: Seq[(String, String)] = Seq(
    "spark.network.timeout" -> s"${NetworkTimeout}s",
    "spark.network.timeoutInterval" -> "5s",
    "spark.executor.heartbeatInterval" -> "2s",
    "spark.task.maxFailures" -> "100",
    "spark.stage.maxConsecutiveAttempts" -> "100",
    "spark.ui.retainedJobs" -> "10",
    "spark.ui.retainedStages" -> "20",
    "spark.ui.retainedTasks" -> "1000",
    "spark.ui.retainedDeadExecutors" -> "5",
    "spark.sql.ui.retainedExecutions" -> "10"
  )
}
