package io.oap.spark.cluster

import java.lang.ref.WeakReference
import java.util.IdentityHashMap
import java.util.concurrent.TimeoutException

import scala.collection.concurrent.TrieMap
import scala.collection.mutable
import scala.concurrent.Await
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.internal.Logging

import io.oap.common.OapConfig
import io.oap.spark.directory.{Directory, FollowedTables, RemovedFiles}
import io.oap.spark.executor._
import io.oap.spark.internals.{PerSparkContext, SparkInternals}
import io.oap.spark.rpc.{OtherVersionException, ServiceNames, SparkRpc, Wire}
import io.oap.spark.status.{CacheStatus, ExecutorReport, LoggedSamples}

/**
 * What the driver knows of an application's executors: which there are, what they hold, are and
 * have done, how busy they are, and how to reach them. Executors tell all of it in one kind of
 * message, and whatever asks them does so here, over Spark's RPC: no answer waits for a slot of
 * theirs. There is one for each application. Thread-safe.
 *
 * @param status figures of the executors
 * @param logged those of them that become events
 */
private[spark] final class Cluster private (
    val status: CacheStatus,
    logged: LoggedSamples,
    conf: SparkConf)
    extends Logging {
  import Cluster._

  val directory = new Directory(MostDirectoryBytes)
  val load = new ExecutorOccupancy(
    () => System.nanoTime(),
    conf.getTimeAsMs("spark.excludeOnFailure.timeout", "1h").millis.toNanos)
  val removedFiles = new RemovedFiles(
    path =>
      for (one <- ask(ListKnown(path), ListTime); keys <- one.value) yield one.executor -> keys,
    tell)
  val followedTables =
    new FollowedTables(request => send(peers.keys.toSeq.map(_ -> request), TellTime): Unit)

  private val cpusOfTask = conf.getInt("spark.task.cpus", 1)
  private val peers = TrieMap.empty[String, SparkRpc.Peer]

  /** Capacities that pools are to have as soon as they are opened. */
  private val capacities = TrieMap.empty[String, Long]

  /** Why the reports of executors are not read that have another version of the jar. */
  private val refused = TrieMap.empty[String, String]

  private val askOne = new HandOvers.Ask {
    override def apply[A](id: String, request: ExecutorRequest[A], time: FiniteDuration) =
      send(Seq(id -> request), time).head.value
  }
  private val handOvers = new HandOvers(askOne)
  private val newcomers = new Newcomers(directory, handOvers, peers.contains)

  private val inParts = new InParts(new InParts.Send {
    override def apply[A](requests: Seq[(String, ExecutorRequest[A])], patience: FiniteDuration) =
      send(requests, patience)
  })

  /** Nothing where pools have no say in which executors there are. */
  private var earned = Option.empty[EarnedExecutors]

  private def start(context: SparkContext): Unit = {
    earned = earnedExecutors(context)
    // First the events, then those that are there: none is missed, and to join twice does no harm.
    context.addSparkListener(
      new ExecutorEvents(joined, lost, () => logged.applicationEnded(), load, removedFiles))
    SparkInternals.executors(context).forEach(joined(_))
    val environment = SparkEnv.get
    // A local driver is its executor, too, and can be asked before the first report.
    if (context.isLocal) peers(environment.executorId) = ExecutorService.serve(environment)
    else watch(context)
    val members = new ExecutorReconciler(
      () => directory.executorIds,
      () => SparkInternals.executorIds(context).asScala.toSet,
      () => SparkInternals.executors(context).asScala.toSeq,
      joined,
      lost(_, reason = ""),
      () => load.compare(runningTasks(context)),
      () => System.nanoTime()
    )
    SparkRpc.serve(
      environment,
      ServiceNames.Driver,
      (work: Runnable) => work.run(),
      (message, sender) => {
        if (!context.isLocal) members.check()
        val report = known(Wire.decode[Report](message))
        Wire.encode(accept(report, Option(sender)))
      }
    )
  }

  /** Notices what Spark tells nobody of, from a thread of its own, until the application ends. */
  private def watch(context: SparkContext): Unit = {
    val leaving = leavingExecutors(context)
    val replicas = Replicas.share(conf).map(
      new Replicas(directory, _, handOvers, askOne, peers.contains))
    def look(): Unit = while (!context.isStopped) {
      leaving.foreach(_.check())
      earned.foreach(_.check())
      replicas.foreach(_.check())
      Thread.sleep(WatchMillis)
    }
    if (leaving.nonEmpty || earned.nonEmpty || replicas.nonEmpty) {
      val thread = new Thread(() => look(), "oap-watch")
      thread.setDaemon(true)
      thread.start()
    }
  }

  private def runningTasks(context: SparkContext): Map[String, Int] =
    SparkInternals.runningTasks(context).asScala.view.mapValues(_.intValue).toMap

  private def leavingExecutors(context: SparkContext): Option[LeavingExecutors] = {
    val handOver = OapConfig.CACHE_HAND_OVER.get(conf.getOption(_).orNull).longValue.millis
    Option.when(handOver > Duration.Zero && SparkInternals.mayDecommission(conf))(
      new LeavingExecutors(
        directory,
        handOvers,
        SparkInternals.isDecommissioned(context, _),
        peers.contains,
        handOver))
  }

  private def earnedExecutors(context: SparkContext): Option[EarnedExecutors] = {
    val weak = new WeakReference(context) // as in begin
    val time = OapConfig.CACHE_KEEP_EXECUTORS.get(conf.getOption(_).orNull).longValue.millis
    Option.when(time > Duration.Zero && SparkInternals.isAllocatedDynamically(conf))(
      new EarnedExecutors(
        time.toNanos,
        (id, stays) => Option(weak.get).foreach(SparkInternals.keep(_, id, stays)),
        () => System.nanoTime()))
  }

  /** Remembers who has another version of the jar, and says so once. */
  private def known(report: => Report): Report =
    try report
    catch {
      case e: OtherVersionException =>
        if (refused.put(e.sender, e.getMessage).isEmpty)
          logWarning(s"What executor ${e.sender} holds is not known: ${e.getMessage}")
        throw e
    }

  /** @throws IllegalStateException when it is not known yet that there is such an executor */
  private def accept(report: Report, sender: Option[SparkRpc.Peer]): ReportReply = {
    // First, so that one that is lost meanwhile does not stay.
    val isNew = sender.exists(peers.put(report.executor, _).isEmpty)
    if (!directory.isLive(report.executor)) {
      peers.remove(report.executor)
      throw new IllegalStateException(s"executor ${report.executor} is not known yet")
    }
    if (isNew) {
      capacities.remove(report.executor).foreach(bytes => tell(report.executor, Resize(bytes)))
    }
    report.figures.foreach { figures =>
      logged.add(status.accept(figures))
      earned.foreach(_.reported(report.executor, figures.report.figures))
    }
    val reply = ReportReply(report.residency.map(directory.accept), status.pauseMillis)
    if (isNew) newcomers.opened(report.executor)
    reply
  }

  /** Sends a request to an executor, if it can be reached, and does not wait. */
  def tell(executor: String, request: ExecutorRequest[_]): Unit =
    peers.get(executor).foreach(_.send(Wire.encode(request), TellTime.toMillis))

  /** Has all executors tell their figures, and takes them into the status. */
  def askFigures(): Seq[Answer[ExecutorReport]] = {
    val executors = directory.executorIds.toSeq.sortBy(id => (id.length, id))
    val answers = send(executors.map(_ -> TellFigures), FiguresTime)
    answers.flatMap(_.value).foreach(status.accept)
    answers.map(_.map(_.report))
  }

  /**
   * Has all executors answer a request, at the same time. They are asked for their figures before:
   * one that stands still is found out soon, and nothing is asked of it that it would do later.
   *
   * @return an answer for each executor that is there in the end, in order
   */
  def ask[A](request: ExecutorRequest[A], patience: FiniteDuration): Seq[Answer[A]] =
    askInParts(patience, _ => 1)(_ => request).map(_.map(_.head))

  /**
   * Has all executors answer requests about parts of what they hold, one part after the other.
   *
   * @param patience how long each answer may take
   * @param parts into how many parts an executor's content is divided
   */
  def askInParts[A](patience: FiniteDuration, parts: ExecutorReport => Int)(
      request: Part => ExecutorRequest[A]): Seq[Answer[Seq[A]]] = {
    val all = mutable.HashMap.empty[String, Seq[A]]
    val answers = eachPart(patience, parts, MostExecutors)(request) { (executor, answer) =>
      all(executor) = all.getOrElse(executor, Vector.empty) :+ answer
    }
    answers.map(one => one.map(_ => all.getOrElse(one.executor, Nil)))
  }

  /**
   * Has executors answer so, some at a time, and passes each answer on as it arrives.
   *
   * @param atATime so many executors are asked at the same time
   */
  def eachPart[A](patience: FiniteDuration, parts: ExecutorReport => Int, atATime: Int)(
      request: Part => ExecutorRequest[A])(take: (String, A) => Unit): Seq[Answer[Unit]] = {
    val counts = askFigures().map(_.map(parts))
    inParts.ask(counts, atATime, patience)(request)(take)
      .filter(one => directory.isLive(one.executor))
  }

  /** Gives pools another capacity, also those that are opened later by executors of now. */
  def resize(bytes: Long, patience: FiniteDuration): Seq[Answer[Resized]] = {
    directory.executorIds.foreach(capacities.put(_, bytes))
    val answers = ask(Resize(bytes), patience)
    answers.filterNot(_.hasNoPool).foreach(one => capacities.remove(one.executor))
    answers
  }

  private def send[A](
      requests: Seq[(String, ExecutorRequest[A])],
      patience: FiniteDuration): Seq[Answer[A]] = {
    val deadline = patience.fromNow
    // Most often it is one for all.
    val messages = new IdentityHashMap[ExecutorRequest[_], Array[Byte]]
    val sent = requests.map { case (executor, request) =>
      executor -> peers.get(executor).map(
        _.send(messages.computeIfAbsent(request, Wire.encode(_)), patience.toMillis))
    }
    sent.map {
      case (executor, None) =>
        refused.get(executor).fold(Answer.withoutPool[A](executor, ExecutorService.NotUsed))(why =>
          Answer(executor, None, Some(why)))
      case (executor, Some(answer)) =>
        try Wire.decode[Either[String, A]](Await.result(answer, deadline.timeLeft + Slack)) match {
            case Right(value) => Answer(executor, Some(value))
            case Left(why) => Answer.withoutPool(executor, why)
          }
        catch {
          case _: TimeoutException =>
            Answer(executor, None, Some(s"no answer within ${patience.toSeconds} s"))
          case NonFatal(e) => Answer(executor, None, Some(s"no answer: ${e.getMessage}"))
        }
    }
  }

  private def joined(executor: SparkInternals.Executor): Unit = {
    val (id, host) = (executor.id, executor.host)
    // First the status: figures are accepted of executors that the directory knows.
    status.executorAdded(id, host)
    directory.executorJoined(id, host, executor.cores, executor.runsQueries)
    if (executor.runsQueries)
      load.executorJoined(id, host, math.max(1, executor.cores / cpusOfTask))
  }

  private def lost(id: String, reason: String): Unit = {
    if (SparkInternals.isOnPurpose(reason)) directory.executorReleased(id)
    else directory.executorLost(id)
    load.executorLost(id)
    status.executorRemoved(id)
    logged.executorRemoved(id)
    peers.remove(id)
    capacities.remove(id)
    refused.remove(id)
    earned.foreach(_.lost(id))
  }
}

private[spark] object Cluster {

  /** Some 10 million chunks. */
  private val MostDirectoryBytes = 256L << 20

  /** An executor that does not tell its figures in this time stands still. */
  private val FiguresTime = 5.seconds

  private val TellTime = 10.seconds

  private val ListTime = 10.seconds

  /** Of those that are asked at the same time. */
  private val MostExecutors = 1 << 20

  private val WatchMillis = 100L

  /** What an answer may be late by that Spark has not given up. */
  private val Slack = 1.second

  private val all = new PerSparkContext(begin)

  /** The cluster of an application, from its driver. */
  def of(context: SparkContext): Cluster = all.of(context)

  private def begin(context: SparkContext): Cluster = {
    // A cluster is kept for as long as its context is reachable.
    val weak = new WeakReference(context)
    val logged = new LoggedSamples(event => Option(weak.get).foreach(SparkInternals.post(_, event)))
    val cluster = new Cluster(CacheStatus.of(context), logged, context.getConf)
    cluster.start(context)
    cluster
  }
}
