package io.oap.spark.cluster

import scala.concurrent.duration.FiniteDuration

import io.oap.spark.executor.{ExecutorRequest, Part}

/**
 * What an executor has answered.
 *
 * @param executor Spark's id of the executor
 * @param value nothing where it could not be reached, or has no pool that the request is about
 * @param why why there is no value
 */
private[spark] final case class Answer[A](
    executor: String,
    value: Option[A],
    why: Option[String] = None,
    hasNoPool: Boolean = false) {
  def map[B](f: A => B): Answer[B] = copy(value = value.map(f))
}

private[spark] object Answer {
  def withoutPool[A](executor: String, why: String): Answer[A] =
    Answer(executor, None, Some(why), hasNoPool = true)
}

/**
 * Asks executors about parts of what they hold, one part after the other.
 *
 * @param send has executors answer, all at the same time
 */
private final class InParts(send: InParts.Send) {

  /**
   * @param counts into how many parts the content of each executor is divided
   * @param atATime so many executors are asked at the same time
   * @param take called with each answer before the next executors are asked, so that nothing has to
   *     hold all of them
   * @return for each executor whether it has answered about all parts; after one that it has not
   *     answered about it is asked no more
   */
  def ask[A](counts: Seq[Answer[Int]], atATime: Int, patience: FiniteDuration)(
      request: Part => ExecutorRequest[A])(take: (String, A) => Unit): Seq[Answer[Unit]] = {
    val parts = counts.flatMap(one => one.value.map(one.executor -> _)).toMap
    var answers = counts.map(_.map(_ => ()))
    for (number <- 0 until parts.values.maxOption.getOrElse(0)) {
      val asked = answers.filter(_.value.isDefined).map(_.executor).filter(number < parts(_))
      for (some <- asked.grouped(atATime)) {
        val more = send(some.map(one => one -> request(Part(number, parts(one)))), patience)
        for (one <- more; value <- one.value) take(one.executor, value)
        val now = more.map(one => one.executor -> one.map(_ => ())).toMap
        answers = answers.map(before => now.getOrElse(before.executor, before))
      }
    }
    answers
  }
}

private object InParts {

  /** Has executors answer requests in some time; there is an answer for each. */
  trait Send {
    def apply[A](
        requests: Seq[(String, ExecutorRequest[A])],
        patience: FiniteDuration): Seq[Answer[A]]
  }
}
