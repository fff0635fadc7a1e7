package io.oap.spark.directory

import java.util.concurrent.ConcurrentHashMap

import scala.concurrent.duration._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging

import io.oap.spark.executor.{ExecutorRequest, HandedPart, HandOver, NextPart, TakePart}
import io.oap.spark.rpc.Background

/**
 * Has executors copy what others hold, part by part. Nothing waits for it: what is not copied in
 * time is read from files.
 *
 * @param ask has an executor answer; nothing where it does not, or has no pool
 */
private final class HandOvers(ask: HandOvers.Ask) extends Logging {
  import HandOvers._

  private val threads = Background.threads("oap-hand-over-%d", MostThreads)

  /** Passes on what an executor is to hand over, as soon as it is known what that is. */
  def begin(from: String, what: String)(deal: => Option[HandOver]): Unit =
    threads.execute(() => run(from, what, deal))

  private def run(from: String, what: String, deal: => Option[HandOver]): Unit =
    try {
      val waiting = deal.flatMap(ask(from, _, AnswerTime))
      waiting.filter(_ > 0).foreach { bytes =>
        logInfo(s"$what; others are to copy $bytes bytes of the column cache of executor $from")
        val parts = new Parts(from)
        for (_ <- 1 until AtATime) threads.execute(() => parts.pass())
        parts.pass()
      }
    } catch {
      case NonFatal(e) => logWarning(s"What executor $from holds is not handed over", e)
    }

  /** Passes parts from one executor to others, on some threads. */
  private final class Parts(from: String) {
    private val begun = System.nanoTime()
    private val deadline = MostTime.fromNow
    private val takenBy = new ConcurrentHashMap[String, Long]

    def pass(): Unit =
      try {
        var bytes = 0L
        var next = nextPart(None, None)
        while (next.isDefined) {
          val part = next.get
          // After that time all that have parts waiting are taken for refusing them.
          val request = TakePart(part, takenBy.getOrDefault(part.to, 0L))
          val taken = if (deadline.hasTimeLeft()) ask(part.to, request, AnswerTime) else None
          takenBy.merge(part.to, taken.getOrElse(0L), (a: Long, b: Long) => a + b)
          bytes += taken.getOrElse(0L)
          next = nextPart(next, Option.when(taken.forall(_ == 0))(part.to))
        }
        val millis = (System.nanoTime() - begun) / 1000000
        logInfo(s"$bytes bytes of what executor $from held are copied after $millis ms")
      } catch {
        case NonFatal(e) => logWarning(s"Executor $from hands nothing more over", e)
      }

    private def nextPart(last: Option[HandedPart], refusing: Option[String]) =
      ask(from, NextPart(last, refusing), AnswerTime).flatten
  }
}

private object HandOvers {

  /** Has an executor answer a request in some time. */
  trait Ask {
    def apply[A](executor: String, request: ExecutorRequest[A], time: FiniteDuration): Option[A]
  }

  /** So many parts are on their way from one executor; in all, of all that hand over. */
  private val AtATime = 4
  private val MostThreads = 16

  private val AnswerTime = 10.seconds

  /** Clouds announce the end of a machine two minutes before. */
  private val MostTime = 2.minutes
}
