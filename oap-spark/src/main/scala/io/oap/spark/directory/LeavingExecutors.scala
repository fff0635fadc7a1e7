package io.oap.spark.directory

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.spark.executor.{ExecutorRequest, HandedPart, NextPart, TakePart}
import io.oap.spark.rpc.Background

/**
 * Notices executors that are decommissioned, of which Spark posts no event, and has the others copy
 * what these hold while they are there. Nothing waits for it: what is not copied in time is read
 * from files.
 *
 * @param isLeaving whether Spark has an executor leave
 * @param isReachable whether an executor can be asked
 * @param ask has an executor answer; nothing where it does not, or has no pool
 */
private final class LeavingExecutors(
    directory: Directory,
    isLeaving: String => Boolean,
    isReachable: String => Boolean,
    ask: LeavingExecutors.Ask)
    extends Logging {
  import LeavingExecutors._

  private val threads = Background.threads("oap-hand-over-%d", MostThreads)

  /** Looks which executors leave that were not known to; called some times in a second. */
  def check(): Unit =
    try {
      val leaving = directory.executorIds.filter(isLeaving).filter(directory.executorLeaves)
      leaving.foreach(id => threads.execute(() => handOver(id)))
    } catch {
      case NonFatal(e) => logDebug("Which executors leave is not known", e)
    }

  private def handOver(leaving: String): Unit =
    try {
      val plan = new HandOverPlan(directory, isReachable).of(leaving)
      val waiting = plan.flatMap(ask(leaving, _, AnswerTime))
      waiting.filter(_ > 0).foreach { bytes =>
        logInfo(s"Executor $leaving leaves; others are to copy $bytes bytes of its column cache")
        val run = new Run(leaving)
        for (_ <- 1 until AtATime) threads.execute(() => run.go())
        run.go()
      }
    } catch {
      case NonFatal(e) => logWarning(s"What executor $leaving holds is not handed over", e)
    }

  /** Passes parts from one executor to others, on some threads. */
  private final class Run(leaving: String) {
    private val begun = System.nanoTime()
    private val deadline = MostTime.fromNow

    def go(): Unit =
      try {
        var bytes = 0L
        var next = nextPart(None, None)
        while (next.isDefined && deadline.hasTimeLeft()) {
          val part = next.get
          val taken = ask(part.to, TakePart(part), AnswerTime)
          bytes += taken.getOrElse(0L)
          next = nextPart(taken.map(_ => part), Option.when(taken.forall(_ == 0))(part.to))
        }
        val millis = (System.nanoTime() - begun) / 1000000
        logInfo(s"$bytes bytes of what executor $leaving held are copied after $millis ms")
      } catch {
        case NonFatal(e) => logWarning(s"Executor $leaving hands nothing more over", e)
      }

    private def nextPart(last: Option[HandedPart], refusing: Option[String]) =
      ask(leaving, NextPart(last, refusing), AnswerTime).flatten
  }
}

private object LeavingExecutors {

  /** Has an executor answer a request in some time. */
  trait Ask {
    def apply[A](executor: String, request: ExecutorRequest[A], time: FiniteDuration): Option[A]
  }

  /** So many parts are on their way from one executor; in all, of all that leave. */
  private val AtATime = 4
  private val MostThreads = 16

  private val AnswerTime = 10.seconds

  /** Clouds announce the end of a machine two minutes before. */
  private val MostTime = 2.minutes
}
