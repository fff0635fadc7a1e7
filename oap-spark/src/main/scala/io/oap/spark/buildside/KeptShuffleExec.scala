package io.oap.spark.buildside

import scala.concurrent.{ExecutionContext, Future}
import scala.jdk.OptionConverters._
import scala.util.Success

import org.apache.spark.ShuffleDependency
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{ShuffledRowRDD, ShufflePartitionSpec, SparkPlan}
import org.apache.spark.sql.execution.exchange.{
  ShuffleExchangeExec,
  ShuffleExchangeLike,
  ShuffleOrigin
}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLShuffleWriteMetricsReporter}

import io.oap.spark.internals.Shuffles

/**
 * A shuffle whose files outlive the query. Tasks read the files that an earlier query has written of
 * the same rows; else Spark's own exchange has them written, and in an adaptive plan they are kept for
 * the next query.
 *
 * To Spark it is its own exchange, as [[KeptBroadcastExec]] is.
 */
private[spark] final case class KeptShuffleExec(
    override val outputPartitioning: Partitioning,
    child: SparkPlan)
    extends ShuffleExchangeLike
    with KeptExchange[ShuffledSide] {

  @transient private val own = ShuffleExchangeExec(outputPartitioning, child)

  override def shuffleOrigin: ShuffleOrigin = own.shuffleOrigin

  override def advisoryPartitionSize: Option[Long] = own.advisoryPartitionSize

  override def nodeName: String = own.nodeName

  override lazy val metrics: Map[String, SQLMetric] = own.metrics + keptMetric

  override protected def doCanonicalize(): SparkPlan = own.canonicalized

  override protected def sides: KeptSides[ShuffledSide] = BuildSides.of(sparkContext).shuffles

  override protected def form: Any = own.canonicalized.outputPartitioning

  @transient private lazy val dependency: ShuffleDependency[Int, InternalRow, InternalRow] =
    found.fold(own.shuffleDependency)(_.dependency)

  // Whether this query has begun to write: to be asked what it has written is no reason to begin.
  @transient @volatile private var isWriting = false

  // Its type has a name that Scala may not use.
  @transient override protected lazy val mapOutputStatisticsFuture = found match {
    case Some(side) => statisticsOf(side, own.mapOutputStatisticsFuture)
    case None =>
      isWriting = true
      val written = own.mapOutputStatisticsFuture
      // Before Spark says that a later job has ended, so a query that comes after this one finds it.
      written.foreach(_ => offer())(ExecutionContext.parasitic)
      written
  }

  /** @param typed only has the type of the statistics */
  private def statisticsOf[S](side: ShuffledSide, typed: => Future[S]): Future[S] =
    Future.successful(side.statistics.asInstanceOf[S])

  /** The statistics and bytes of what this query has written, if it may be kept. */
  private def written: Option[(Any, Long)] =
    if (!isWriting || !isKnown) None
    else
      own.mapOutputStatisticsFuture.value.collect {
        // There are none of no partitions.
        case Success(statistics) if statistics != null =>
          (statistics, statistics.bytesByPartitionId.sum)
      }.filter { case (_, bytes) =>
        bytes <= sides.mostBytes && Shuffles.isRepeatable(own.shuffleDependency)
      }

  override def numMappers: Int = dependency.rdd.getNumPartitions

  override def numPartitions: Int = dependency.partitioner.numPartitions

  /** Spark may remove the shuffles of a query when it ends: those that are kept are not told. */
  override def shuffleId: Int = if (found.isDefined || written.isDefined) -1 else own.shuffleId

  override def runtimeStatistics: Statistics =
    found.fold(own.runtimeStatistics)(side => Statistics(side.rowBytes, Some(side.rows)))

  override def getShuffleRDD(partitionSpecs: Array[ShufflePartitionSpec]): RDD[InternalRow] =
    new ShuffledRowRDD(dependency, metrics, partitionSpecs)

  // One, also where more than one plan reads it.
  @transient private lazy val all = new ShuffledRowRDD(dependency, metrics)

  override protected def doExecute(): RDD[InternalRow] = all

  override protected def withNewChildInternal(newChild: SparkPlan): KeptShuffleExec =
    copy(child = newChild)

  override protected def tell(side: ShuffledSide): Unit = {
    longMetric("dataSize") += side.rowBytes
    longMetric("numPartitions") += side.dependency.partitioner.numPartitions
  }

  private def offer(): Unit =
    for {
      (statistics, bytes) <- written
      writers <- Shuffles.writers(own.shuffleDependency).toScala
    } keep(ShuffledSide(
      own.shuffleDependency,
      writers,
      statistics,
      longMetric(SQLShuffleWriteMetricsReporter.SHUFFLE_RECORDS_WRITTEN).value,
      longMetric("dataSize").value,
      bytes
    ))
}
