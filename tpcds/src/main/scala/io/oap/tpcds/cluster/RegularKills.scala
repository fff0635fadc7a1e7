package io.oap.tpcds.cluster

import java.io.IOException
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.Random

/**
 * Kills the executor of a host every 20 seconds and pauses another one between some of the kills,
 * until it is closed. Workers start executors anew.
 *
 * @param hosts hosts of the executors that are alive now
 */
final class RegularKills(
    control: Control,
    hosts: () => Seq[String],
    random: Random,
    say: String => Unit)
    extends AutoCloseable {
  private val end = new CountDownLatch(1)
  @volatile private var kills = 0
  private val thread = new Thread(() => repeat())
  thread.setDaemon(true)
  thread.start()

  /** How many executors were killed. */
  def killed: Int = kills

  private def repeat(): Unit =
    while (!endsWithin(RegularKills.BeforePause)) {
      val paused = if (random.nextInt(5) < 2) pause() else 0
      if (!endsWithin(math.max(1, RegularKills.Seconds - RegularKills.BeforePause - paused))) kill()
    }

  private def endsWithin(seconds: Int): Boolean = end.await(seconds.toLong, TimeUnit.SECONDS)

  private def kill(): Unit = onOne { host =>
    say(s"kill -9 of the executor on $host")
    control.kill(host, whole = false)
    kills += 1
  }

  /** Returns for how many seconds; sometimes longer than Spark waits for an executor. */
  private def pause(): Int = {
    val seconds =
      if (random.nextInt(4) == 0) Disturbance.NetworkTimeout + 10 else 1 + random.nextInt(8)
    onOne { host =>
      say(s"the executor on $host paused for $seconds s")
      control.pause(host)
      try endsWithin(seconds)
      finally control.resume(host)
    }
    seconds
  }

  private def onOne(act: String => Unit): Unit = {
    val alive = hosts()
    if (alive.nonEmpty) {
      try act(alive(random.nextInt(alive.length)))
      // The next one may be luckier; the bar on kills tells when none was.
      catch { case e: IOException => say(s"dev/cluster: ${e.getMessage.trim}") }
    }
  }

  override def close(): Unit = {
    end.countDown()
    thread.join()
  }
}

private object RegularKills {

  /** From one kill to the next. */
  private val Seconds = 20
  private val BeforePause = 8
}
