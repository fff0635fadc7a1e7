package io.oap.spark.directory

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler._
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

import io.oap.spark.executor.{ExecutorCache, ExecutorService}
import io.oap.spark.internals.{PerSparkContext, SparkInternals}
import io.oap.spark.rpc._

/**
 * What the driver knows of an application's executors: which there are, what they hold, how busy
 * they are, and how to reach them. There is one for each application, made when its first query is
 * planned. Thread-safe.
 */
private[spark] final class Cluster private (cpusOfTask: Int) extends Logging {
  import Cluster._

  val directory = new Directory(MostDirectoryBytes)
  val load = new ExecutorOccupancy(() => System.nanoTime())
  val removedFiles = new RemovedFiles(forget)

  private val requests = Background.thread("oap-requests", MostRequests)
  private val peers = TrieMap.empty[String, SparkRpc.Peer]

  private def start(context: SparkContext): Unit = {
    // First the events, then those that are there: none is missed, and to join twice does no harm.
    context.addSparkListener(new Events)
    SparkInternals.executors(context).forEach(executor =>
      joined(executor.id, executor.host, executor.cores))
    if (!context.isLocal) {
      val members = new ExecutorReconciler(
        () => directory.executorIds,
        () => SparkInternals.executorIds(context).asScala.toSet,
        () => SparkInternals.executors(context).asScala.toSeq,
        executor => joined(executor.id, executor.host, executor.cores),
        lost(_, reason = ""),
        () => System.nanoTime()
      )
      SparkRpc.serve(
        SparkEnv.get,
        ServiceNames.Residency,
        (request, sender) => {
          members.check()
          answer(request, sender)
        })
    }
  }

  private def answer(request: Array[Byte], sender: SparkRpc.Peer): Array[Byte] = {
    val delta = Wire.decode[ResidencyDelta](request)
    // First, so that one that is lost meanwhile does not stay.
    peers(delta.executor) = sender
    val reply = directory.accept(delta)
    if (!reply.isAccepted) {
      peers.remove(delta.executor)
    }
    Wire.encode(reply)
  }

  /** Sends a request to all executors that have a cache, as far as they can be reached. */
  private def forget(request: ForgetFiles): Unit = {
    ExecutorCache.ifOpened.flatMap(_.toOption).foreach { cache =>
      new ExecutorService(cache, () => ()).answer(request)
    }
    val bytes = Wire.encode[ExecutorRequest](request)
    peers.foreach { case (executor, peer) =>
      try peer.ask(bytes, null, AnswerMillis)
      catch { case NonFatal(e) => logDebug(s"Executor $executor keeps chunks of removed files", e) }
    }
  }

  /** Sends a request to an executor, soon, if it can be reached. */
  def tell(executor: String, request: ExecutorRequest): Unit =
    peers.get(executor).foreach { peer =>
      requests.execute { () =>
        try peer.ask(Wire.encode(request), null, AnswerMillis)
        catch { case NonFatal(e) => logDebug(s"A request did not reach executor $executor", e) }
      }
    }

  private def joined(id: String, host: String, cores: Int): Unit = {
    directory.executorJoined(id, host, cores)
    load.executorJoined(id, host, math.max(1, cores / cpusOfTask))
  }

  private def lost(id: String, reason: String): Unit = {
    if (SparkInternals.isOnPurpose(reason)) directory.executorReleased(id)
    else directory.executorLost(id)
    load.executorLost(id)
    peers.remove(id)
  }

  private final class Events extends SparkListener {
    override def onExecutorAdded(event: SparkListenerExecutorAdded): Unit =
      joined(event.executorId, event.executorInfo.executorHost, event.executorInfo.totalCores)

    override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
      lost(event.executorId, event.reason)

    override def onExecutorExcluded(event: SparkListenerExecutorExcluded): Unit =
      load.excluded(event.executorId)

    override def onExecutorUnexcluded(event: SparkListenerExecutorUnexcluded): Unit =
      load.included(event.executorId)

    override def onNodeExcluded(event: SparkListenerNodeExcluded): Unit =
      load.excluded(event.hostId)

    override def onNodeUnexcluded(event: SparkListenerNodeUnexcluded): Unit =
      load.included(event.hostId)

    override def onTaskStart(event: SparkListenerTaskStart): Unit =
      load.taskStarted(event.taskInfo.executorId, event.taskInfo.taskId, event.stageId)

    override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
      load.taskEnded(event.taskInfo.executorId, event.taskInfo.taskId)

    override def onStageCompleted(event: SparkListenerStageCompleted): Unit =
      load.stageEnded(event.stageInfo.stageId)

    override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
      case end: SparkListenerSQLExecutionEnd =>
        Option(SparkInternals.execution(end)).foreach(removedFiles.executionEnded)
      case _ => ()
    }
  }
}

private[spark] object Cluster {

  /** Some 10 million chunks. */
  private val MostDirectoryBytes = 256L << 20

  /** More than so many that wait were made by plans that know no better than these. */
  private val MostRequests = 100

  private val AnswerMillis = 10000L

  private val all = new PerSparkContext(begin)

  /** The cluster of an application, from its driver. */
  def of(context: SparkContext): Cluster = all.of(context)

  private def begin(context: SparkContext): Cluster = {
    val cluster = new Cluster(context.getConf.getInt("spark.task.cpus", 1))
    cluster.start(context)
    cluster
  }
}
