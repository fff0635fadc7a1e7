package io.oap.spark.buildside

import java.util.concurrent.{CompletableFuture, Future => JavaFuture}

import scala.concurrent.{ExecutionContext, Future}

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastMode, Partitioning}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, BroadcastExchangeLike}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * A broadcast whose relation outlives the query. It answers with the one that an earlier query has
 * built of the same rows; else Spark's own exchange builds it, and it is kept for the next query.
 *
 * To Spark it is its own exchange: the same canonical form, by which exchanges are reused and dynamic
 * pruning finds them, the same name, the same metrics and statistics.
 */
private[spark] final case class KeptBroadcastExec(mode: BroadcastMode, child: SparkPlan)
    extends BroadcastExchangeLike
    with KeptExchange[BuildSide] {

  // Made with this one, as it takes the session of the thread that makes it.
  @transient private val built = BroadcastExchangeExec(mode, child)

  override def nodeName: String = built.nodeName

  override lazy val metrics: Map[String, SQLMetric] = built.metrics + keptMetric

  override def outputPartitioning: Partitioning = built.outputPartitioning

  override protected def doCanonicalize(): SparkPlan = built.canonicalized

  override def runtimeStatistics: Statistics = built.runtimeStatistics

  override def jobTag: String = built.jobTag

  /** Does nothing, as in Spark's exchange: what is there is not built again. */
  override def resetMetrics(): Unit = ()

  override protected def sides: KeptSides[BuildSide] = BuildSides.of(sparkContext).broadcasts

  override protected def form: Any = mode.canonicalized

  @transient override protected lazy val completionFuture: Future[Broadcast[Any]] =
    found match {
      case Some(side) => Future.successful(side.broadcast)
      // On the thread that has built it: a query that comes after this one finds it, or waits for it.
      case None =>
        built.completionFuture.map { broadcast => keep(sideOf(broadcast)); broadcast }(
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

  override protected def tell(side: BuildSide): Unit = {
    longMetric("dataSize") += side.bytes
    longMetric("numOutputRows") += side.rows
  }

  private def sideOf(broadcast: Broadcast[Any]): BuildSide =
    BuildSide(broadcast, longMetric("numOutputRows").value, longMetric("dataSize").value)
}
