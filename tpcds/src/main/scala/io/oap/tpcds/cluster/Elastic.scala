package io.oap.tpcds.cluster

import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import io.oap.tpcds.result.{Bars, QueryRun}

/**
 * Load that comes once in a minute, on executors that dynamic allocation starts for it and removes
 * after it, all but one: at first their pools go with them, then pools keep them, then they hand
 * over what they hold. The queries are the same, so that what they read from files can be compared.
 */
final class Elastic(options: ClusterOptions) extends ClusterMeasurement {
  import Elastic._

  override def run(say: String => Unit, bars: Bars): Unit = {
    val measured = Measured.of(options, say)
    val ways = Ways.map { way =>
      say(s"${way.name}:")
      way -> minutes(way, measured, say)
    }
    val fromFiles = ways.map { case (way, minutes) => way -> minutes.drop(1).map(_.fromFile).sum }
    for ((way, bytes) <- fromFiles)
      say(s"${way.name}: ${RoundTable.megabytes(bytes)} from files after the first minute")
    val all = ways.flatMap(_._2)
    bars.none("rows that differ from Spark alone", all.flatMap(_.differences))
    val (_, thrownAway) = ways.head
    bars.atMost(
      "executors left in each pause where pools are thrown away",
      thrownAway.map(_.least).max.toDouble,
      1)
    bars.atLeast(
      "executors under load there, worst minute",
      thrownAway.map(_.most).min.toDouble,
      options.executors.toDouble)
    for ((way, bytes) <- fromFiles.tail)
      bars.atMost(
        s"${way.name}: bytes from files after the first minute, over those of pools thrown away",
        bytes.toDouble / fromFiles.head._2,
        Bars.FromFilesWhenElastic)
  }

  private def minutes(way: Way, measured: Measured, say: String => Unit): Seq[Minute] =
    Application.use(options, measured.settings ++ allocation ++ way.settings: _*) { application =>
      (1 to options.minutes).map { number =>
        val minute = oneMinute(application, measured)
        say(minute.line(number))
        minute
      }
    }

  private def allocation: Seq[(String, String)] = Seq(
    "spark.dynamicAllocation.enabled" -> "true",
    "spark.dynamicAllocation.minExecutors" -> "1",
    "spark.dynamicAllocation.maxExecutors" -> options.executors.toString,
    "spark.executor.instances" -> options.executors.toString,
    "spark.dynamicAllocation.executorIdleTimeout" -> IdleTime,
    // Files of a shuffle that has ended would keep an executor, too.
    "spark.dynamicAllocation.shuffleTracking.timeout" -> IdleTime
  )

  /** As many queries at a time as there may be executors, then a pause. */
  private def oneMinute(application: Application, measured: Measured): Minute = {
    val pause = 1.minute.fromNow
    val waiting = new ConcurrentLinkedQueue[String](
      Seq.fill(options.rounds)(options.queries).flatten.asJava)
    val runs = new ConcurrentLinkedQueue[QueryRun]
    var most, least = application.hosts.size
    val threads = Executors.newFixedThreadPool(options.executors)
    implicit val context: ExecutionContext = ExecutionContext.fromExecutor(threads)
    try {
      val clients = Future.traverse((1 to options.executors).toSeq) { _ =>
        Future(Iterator.continually(waiting.poll()).takeWhile(_ != null).foreach { query =>
          runs.add(application.run(query, measured.expected(query), "auto"))
        })
      }
      while (!clients.isCompleted) {
        most = math.max(most, application.hosts.size)
        Thread.sleep(100)
      }
      Await.result(clients, Duration.Zero)
    } finally threads.shutdownNow()
    // Spark frees the broadcasts of earlier queries after a garbage collection only.
    System.gc()
    val until = if (pause.timeLeft > LeastPause) pause else LeastPause.fromNow
    while (until.hasTimeLeft()) {
      least = application.hosts.size
      Thread.sleep(100)
    }
    Minute(runs.asScala.toSeq, most, least)
  }
}

private object Elastic {
  private val IdleTime = "5s"

  /** Idle time, the time to hand over, and what a loaded machine takes for both. */
  private val LeastPause = 20.seconds

  private final case class Way(name: String, settings: (String, String)*)

  private val Ways = Seq(
    Way("pools thrown away", "spark.decommission.enabled" -> "false"),
    Way(
      "pools keep executors",
      "spark.decommission.enabled" -> "false",
      "spark.oap.cache.keepExecutors" -> "30m"),
    Way("pools handed over", "spark.decommission.enabled" -> "true")
  )

  /**
   * @param most executors while queries ran
   * @param least executors at the end of the pause
   */
  private final case class Minute(runs: Seq[QueryRun], most: Int, least: Int) {
    def fromFile: Long = runs.map(_.fromFile).sum

    def differences: Seq[String] =
      runs.filter(_.difference.nonEmpty).map(run => s"${run.query}: ${run.difference}")

    def line(number: Int): String = {
      val fromPool = runs.map(_.fromPool).sum
      f"minute $number%3d: ${runs.size} queries, ${RoundTable.megabytes(fromPool)} from pools, " +
        s"${RoundTable.megabytes(fromFile)} from files; executors up to $most, then $least"
    }
  }
}
