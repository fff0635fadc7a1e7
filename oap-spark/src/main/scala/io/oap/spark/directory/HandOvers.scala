package io.oap.spark.directory

import java.util.concurrent.{ConcurrentHashMap, Executor, TimeUnit}

import scala.concurrent.duration._
import scala.util.control.NonFatal

import com.google.common.util.concurrent.Striped
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

  private val forNewcomers = Background.threads("oap-newcomer-%d", MostThreads)

  /** Of executors that leave, which have no time to wait until newcomers have all. */
  private val forLeaving = Background.threads("oap-hand-over-%d", MostThreads)

  /** Executors refuse what is more at a time than they have threads for, and others ask them too. */
  private val places = Striped.lazyWeakSemaphore(Stripes, AtATime)

  /**
   * Passes on what an executor is to hand over, as soon as it is known what that is.
   *
   * @param isLeaving whether it will soon be gone
   */
  def begin(from: String, what: String, isLeaving: Boolean)(deal: => Option[HandOver]): Unit = {
    val threads = if (isLeaving) forLeaving else forNewcomers
    threads.execute(() => run(from, what, threads, deal))
  }

  private def run(
      from: String,
      what: String,
      threads: Executor,
      deal: => Option[HandOver]): Unit =
    try {
      val waiting = deal.flatMap(askInTurn(from, _))
      waiting.filter(_ > 0).foreach { bytes =>
        logInfo(s"$what; others are to copy $bytes bytes of the column cache of executor $from")
        val parts = new Parts(from)
        for (_ <- 1 until AtATime) threads.execute(() => parts.pass())
        parts.pass()
      }
    } catch {
      case NonFatal(e) => logWarning(s"What executor $from holds is not handed over", e)
    }

  /** Asks an executor when it has few other such requests to answer. */
  private def askInTurn[A](executor: String, request: ExecutorRequest[A]): Option[A] = {
    val place = places.get(executor)
    if (!place.tryAcquire(TurnTime.toMillis, TimeUnit.MILLISECONDS)) None
    else
      try ask(executor, request, AnswerTime)
      finally place.release()
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
          val taken = if (deadline.hasTimeLeft()) askInTurn(part.to, request) else None
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
      askInTurn(from, NextPart(last, refusing)).flatten
  }
}

private object HandOvers {

  /** Has an executor answer a request in some time. */
  trait Ask {
    def apply[A](executor: String, request: ExecutorRequest[A], time: FiniteDuration): Option[A]
  }

  /** So many parts are on their way from one executor, and so many requests to one. */
  private val AtATime = 4

  /** In all, of all that leave; and as many to all that have joined. */
  private val MostThreads = 16

  /** Executors that share a stripe share its places, which costs some time and is rare. */
  private val Stripes = 1024

  private val AnswerTime = 10.seconds

  /** In it an executor that stands still keeps all the places until those before have given up. */
  private val TurnTime = 1.minute

  /** Clouds announce the end of a machine two minutes before. */
  private val MostTime = 2.minutes
}
