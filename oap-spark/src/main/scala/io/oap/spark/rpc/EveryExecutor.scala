package io.oap.spark.rpc

import java.util.concurrent.{ConcurrentHashMap, TimeoutException}

import scala.concurrent.Await
import scala.concurrent.duration.{Deadline, FiniteDuration}
import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag

import org.apache.spark.{SparkContext, SparkEnv}

import io.oap.spark.internals.SparkInternals

/** Has every executor of an application answer a question, by a task that runs on it. */
private[spark] object EveryExecutor {

  /** Why there is no answer. */
  val NoAnswer = "it ran no task of ours in time; it may be busy"

  /** Ids of the executors that are alive now, each with its host. */
  private def hosts(context: SparkContext): Map[String, String] =
    SparkInternals.executors(context).asScala.map(e => e.id -> e.host).toMap

  /**
   * Asks all executors that are alive.
   *
   * A task prefers the executor it is meant for; when that one is busy it may run elsewhere. Those
   * that have not answered by then are asked again, until the patience ends.
   *
   * @param question runs on the executors, more than once on some
   * @return id and host of all that are alive in the end, in order, with their answers; nothing
   *     from those that were too busy
   * @throws org.apache.spark.SparkException when the question fails
   */
  def ask[T: ClassTag](context: SparkContext, patience: FiniteDuration)(
      question: () => T): Seq[(String, String, Option[T])] = {
    val answers = new ConcurrentHashMap[String, T]
    val deadline = patience.fromNow
    var left = hosts(context)
    while (left.nonEmpty && deadline.hasTimeLeft()) {
      askOnce(context, left, deadline, question, answers)
      left = hosts(context).filterNot { case (id, _) => answers.containsKey(id) }
    }
    // One that is gone is none of all.
    hosts(context).toSeq
      .map { case (id, host) => (id, host, Option(answers.get(id))) }
      .sortBy { case (id, _, _) => (id.length, id) }
  }

  private def askOnce[T: ClassTag](
      context: SparkContext,
      executors: Map[String, String],
      deadline: Deadline,
      question: () => T,
      answers: ConcurrentHashMap[String, T]): Unit = {
    val places = executors.toSeq.map { case (id, host) => (id, Seq(s"executor_${host}_$id")) }
    val job = context.submitJob[String, (String, T), Unit](
      context.makeRDD(places),
      (_: Iterator[String]) => (SparkEnv.get.executorId, question()),
      places.indices,
      (_, answer) => answers.put(answer._1, answer._2),
      ())
    try Await.result(job, deadline.timeLeft)
    catch { case _: TimeoutException => job.cancel() }
  }
}
