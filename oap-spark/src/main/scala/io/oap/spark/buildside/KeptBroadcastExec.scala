package io.oap.spark.buildside

import java.util.concurrent.{CompletableFuture, Future => JavaFuture}

import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, Partitioning}
import org.apache.spark.sql.execution.{SparkPlan, SQLExecution}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/**
 * A broadcast whose relation outlives the query. It answers with the one that an earlier query has
 * built of the same rows; else Spark's own exchange builds it, and it is kept for the next query.
 *
 * To Spark it is its own exchange: the same canonical form, by which exchanges are reused and dynamic
 * pruning finds them, the same name, the same metrics and statistics.
 */
private[spark] final case class KeptBroadcastExec(mode: BroadcastMode, child: SparkPlan)
    extends BroadcastExchangeLike {
  import KeptBroadcastExec._

  // Made with this one, as it takes the session of the thread that makes it.
  @transient private val built = BroadcastExchangeExec(mode, child)

  override def nodeName: String = built.nodeName

  override lazy val metrics: Map[String, SQLMetric] =
    built.metrics + (Kept -> SQLMetrics.createMetric(sparkContext, "kept build sides used"))

  override def outputPartitioning: Partitioning = built.outputPartitioning

  override protected def doCanonicalize(): SparkPlan = built.canonicalized

  override def runtimeStatistics: Statistics = built.runtimeStatistics

  override def jobTag: String = built.jobTag

  /** Does nothing, as in Spark's exchange: what is there is not built again. */
  override def resetMetrics(): Unit = ()

  @transient private lazy val files: Option[FilesNow] =
    orNone("looked for")(FilesNow.of(PlanShape.sources(child)))

  @transient private lazy val key: Option[BuildSideKey] =
    files.flatMap(asked => orNone("looked for")(BuildSideKey.of(mode, child, conf, asked)))

  /** The files below, and in which versions they were or will be read; none where that is not known. */
  private[buildside] def read: Option[(FilesNow, Seq[Any])] =
    for (asked <- files; settled <- key) yield (asked, settled.reads)

  @transient private lazy val found: Option[BuildSide] = {
    val side = key.flatMap(BuildSides.of(sparkContext).find)
    side.foreach(tell)
    side
  }

  @transient override protected lazy val completionFuture: Future[Broadcast[Any]] =
    found match {
      case Some(side) => Future.successful(side.broadcast)
      // On the thread that has built it: a query that comes after this one finds it, or waits for it.
      case None =>
        built.completionFuture.map { broadcast => keep(broadcast); broadcast }(
          ExecutionContext.parasitic)
    }

  @transient override lazy val relationFuture: JavaFuture[Broadcast[Any]] = found match {
    case Some(side) => CompletableFuture.completedFuture(side.broadcast)
    case None =>
      val building = built.relationFuture
      completionFuture
      building
  }

  override protected def doPrepare(): Unit = relationFuture

  override protected def doExecute(): RDD[InternalRow] = built.execute()

  override def doExecuteBroadcast[T](): Broadcast[T] = found match {
    case Some(side) => side.broadcast.asInstanceOf[Broadcast[T]]
    case None => built.executeBroadcast()
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeptBroadcastExec =
    copy(child = newChild)

  private def tell(side: BuildSide): Unit = {
    longMetric("dataSize") += side.bytes
    longMetric("numOutputRows") += side.rows
    longMetric(Kept) += 1
    val execution = sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)
    SQLMetrics.postDriverMetricUpdates(sparkContext, execution, metrics.values.toSeq)
  }

  /** A file that was replaced meanwhile may have been read in either version. */
  private def keep(broadcast: Broadcast[Any]): Unit =
    for (before <- key; asked <- files) {
      val side =
        BuildSide(broadcast, longMetric("numOutputRows").value, longMetric("dataSize").value)
      val sides = BuildSides.of(sparkContext)
      if (asked.areSettled) sides.keep(before, side)
      else sides.keepIf(before, side)(orNone("kept")(asked.askAgain()).contains(before.reads))
    }

  private def orNone[A](what: String)(asked: => Option[A]): Option[A] =
    try asked
    catch {
      case NonFatal(e) =>
        logDebug(s"A build side is not $what", e)
        None
    }
}

private[spark] object KeptBroadcastExec {

  /** The metric that counts broadcasts that an earlier query has built. */
  val Kept = "keptBuildSides"
}
