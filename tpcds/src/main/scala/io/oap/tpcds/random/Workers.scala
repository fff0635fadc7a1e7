package io.oap.tpcds.random

import java.time.{Duration, Instant}
import java.util.concurrent.Executors

import scala.concurrent.{Await, ExecutionContext, Future}
import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession

/**
 * Two sessions of one application that run queries at the same time, each on a thread of its own.
 *
 * @param say is told every ten seconds how far they are
 */
final class Workers(spark: SparkSession, tally: Tally, say: String => Unit) extends AutoCloseable {
  val all: Seq[Worker] = Seq.fill(2)(new Worker(spark.newSession()))
  private val threads = Executors.newFixedThreadPool(all.size)
  private implicit val context: ExecutionContext = ExecutionContext.fromExecutorService(threads)
  private val begun = Instant.now()
  private var told = begun

  /** How long they have been there. */
  def age: Duration = Duration.between(begun, Instant.now())

  /** Gives each worker one of these, and waits until all are done, or one has failed. */
  def each[T](of: Seq[T])(body: (Worker, T) => Unit): Unit = {
    val running = all.zip(of).map { case (worker, one) =>
      // An error that is fatal to a thread, such as a class that is missing, would leave its Future open.
      Future(
        try body(worker, one)
        catch {
          case e: Error => throw new IllegalStateException(s"${worker.now._1}: $e", e)
        })
    }
    while (!running.forall(_.isCompleted) && !running.exists(_.value.exists(_.isFailure))) {
      Thread.sleep(200)
      tell()
    }
    running.filter(_.isCompleted).foreach(Await.result(_, 0.seconds))
  }

  /** Lets what is no run of a query fail alone. */
  def protect(seed: Long, worker: Worker)(body: => Unit): Unit =
    try body
    catch {
      case NonFatal(e) =>
        worker.requireRunning()
        tally.fail(Failed(seed, "statement", worker.now._1, e.toString))
    }

  private def tell(): Unit = {
    val now = Instant.now()
    if (now.isAfter(told.plusSeconds(10))) {
      told = now
      say(tally.progress(age.toSeconds))
    }
    all.map(_.now).find(_._2.isBefore(now.minus(Workers.Patience))).foreach {
      case (sql, since) => throw new IllegalStateException(s"running since $since: $sql")
    }
  }

  override def close(): Unit = threads.shutdownNow()
}

private object Workers {

  /** What takes longer hangs. */
  val Patience: Duration = Duration.ofMinutes(10)
}
