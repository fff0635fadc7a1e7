package io.oap.spark.cluster

import java.util.concurrent.{ConcurrentHashMap, Executor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.concurrent.duration._
import scala.util.control.NonFatal

import com.google.common.util.concurrent.Striped
import org.apache.spark.internal.Logging

import io.oap.spark.executor._
import io.oap.spark.rpc.Background

/**
 * Has executors copy what others hold, part by part. Nothing waits for it: what is not copied in
 * time is read from files.
 *
 * @param ask has an executor answer; nothing where it does not, or has no pool
 * @param nanoTime a clock as `System.nanoTime`
 */
private final class HandOvers(
    ask: HandOvers.Ask,
    nanoTime: () => Long = () => System.nanoTime())
    extends Logging {
  import HandOvers._

  private val forNewcomers = Background.threads("oap-newcomer-%d", MostThreads)

  /** Of executors that leave, which have no time to wait until newcomers have all. */
  private val forLeaving = Background.threads("oap-hand-over-%d", MostThreads)

  /** Tasks of what [[begin]] has begun that have not ended. */
  private val underWay = new AtomicInteger

  /** Executors refuse what is more at a time than they have threads for, and others ask them too. */
  private val places = Striped.lazyWeakSemaphore(Stripes, AtATime)

  /**
   * Passes on what an executor is to hand over, as soon as it is known what that is.
   *
   * @param stays how long an executor that leaves is sure to be there; nothing where it does not
   *     leave
   */
  def begin(from: String, what: String, stays: Option[FiniteDuration])(
      deal: => Option[HandOver]): Unit = {
    val threads = if (stays.isDefined) forLeaving else forNewcomers
    execute(threads)(run(from, what, threads, new Questions(stays), deal))
  }

  /** Whether something is copied, or is to be, that [[begin]] has begun. */
  def isUnderWay: Boolean = underWay.get > 0

  private def execute(threads: Executor)(task: => Unit): Unit = {
    underWay.incrementAndGet()
    threads.execute { () =>
      try task
      finally underWay.decrementAndGet(): Unit
    }
  }

  /**
   * Has an executor that stays hand something over, one part at a time, and waits until it has, or
   * until the time is over.
   */
  def copy(from: String, deal: HandOver): Unit = {
    val questions = new Questions(stays = None)
    for (BegunHandOver(number, bytes) <- questions.askInTurn(from, deal) if bytes > 0)
      new Parts(from, number, threads = None, questions).pass()
  }

  private def run(
      from: String,
      what: String,
      threads: Executor,
      questions: Questions,
      deal: => Option[HandOver]): Unit =
    try {
      val begun = deal.flatMap(questions.askInTurn(from, _))
      for (BegunHandOver(number, bytes) <- begun if bytes > 0) {
        logInfo(s"$what; others are to copy $bytes bytes of the column cache of executor $from")
        val parts = new Parts(from, number, Some(threads), questions)
        for (_ <- 0 until AtATime - 1) parts.passOnAnotherThread()
        parts.pass()
      }
    } catch {
      case NonFatal(e) => logWarning(s"What executor $from holds is not handed over", e)
    }

  /** Asks executors, and waits for none longer than the one that leaves is there. */
  private final class Questions(stays: Option[FiniteDuration]) {
    private val turnTime = stays.fold(TurnTime)(_.min(TurnTime))
    private val answerTime = stays.fold(AnswerTime)(_.min(AnswerTime))

    /** Asks an executor when it has few other such requests to answer. */
    def askInTurn[A](executor: String, request: ExecutorRequest[A]): Option[A] = {
      val place = places.get(executor)
      if (!place.tryAcquire(turnTime.toMillis, TimeUnit.MILLISECONDS)) None
      else
        try ask(executor, request, answerTime)
        finally place.release()
    }
  }

  /**
   * Passes parts of a hand-over from one executor to others.
   *
   * @param threads where several are passed at a time
   */
  private final class Parts(
      from: String,
      number: Long,
      threads: Option[Executor],
      questions: Questions) {
    import questions.askInTurn

    private val begun = nanoTime()
    private val takenBy = new ConcurrentHashMap[String, Long]

    /** Threads that pass parts, with those that are to begin. */
    private val passing = new AtomicInteger(1)

    /** Has another thread pass parts, too, unless there are enough. */
    def passOnAnotherThread(): Unit =
      for (some <- threads if passing.getAndUpdate(n => math.min(n + 1, AtATime)) < AtATime)
        execute(some)(pass())

    /** Does nothing where no thread has been free in time: those that were have ended it. */
    def pass(): Unit =
      try if (!isOver) passAll()
      catch {
        case NonFatal(e) => logWarning(s"Executor $from hands nothing more over", e)
      } finally passing.decrementAndGet(): Unit

    private def passAll(): Unit = {
      var bytes = 0L
      var next = nextPart(None, None)
      while (next.isDefined) {
        val part = next.get
        val taken = askInTurn(part.to, TakePart(part, takenBy.getOrDefault(part.to, 0L)))
        takenBy.merge(part.to, taken.getOrElse(0L), (a: Long, b: Long) => a + b)
        bytes += taken.getOrElse(0L)
        next =
          if (isOver) end(part)
          else nextPart(next, Option.when(taken.forall(_ == 0))(part.to))
        // Some have ended, if all that was left was for executors that had not answered yet.
        if (next.isDefined) passOnAnotherThread()
      }
      val millis = (nanoTime() - begun) / 1000000
      logInfo(s"$bytes bytes of what executor $from held are copied after $millis ms")
    }

    private def isOver: Boolean = nanoTime() - begun >= MostTime.toNanos

    private def nextPart(last: Option[HandedPart], refusing: Option[String]) =
      askInTurn(from, NextPart(number, last, refusing)).flatten

    private def end(last: HandedPart): Option[HandedPart] = {
      askInTurn(from, EndHandOver(number, last))
      None
    }
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
