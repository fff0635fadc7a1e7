package io.oap.spark.optimizer

import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  EqualTo,
  Exists,
  Expression,
  InSubquery,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{
  Filter,
  Join,
  LeafNode,
  LogicalPlan,
  RebalancePartitions,
  RepartitionOperation,
  Subquery
}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation
}
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.filter.RowFilter
import io.oap.spark.scan.CachedParquetTable

/**
 * The join keys of a plan, as far as they decide what a scan may offer for runtime filtering.
 *
 * Offering every column would make plans worse. Where Spark puts a dynamic filter on a key it puts
 * no bloom filter, and a dynamic filter that finds no broadcast to reuse is dropped: so a data
 * column is offered only when it joins with a side that Spark will broadcast. The driver copies
 * each key several times on its way to the scan, and of very many keys the scan uses the least and
 * the greatest only: so the other side must be expected to have few rows, as such and beside those
 * of the scan, or gathering the keys takes longer than the rows they drop. And equal parts of a
 * plan are run once only while they stay equal: so a table that stands in the plan several times
 * offers its partition columns only, as it does in Spark alone. So does every table in a subquery
 * that is optimized apart from the plan around it, which may have the same tables.
 *
 * A scan drops rows by join keys as far as it comes by it: one of cached vector chunks drops others
 * than one that decodes, and one without a pool none. So the rows that leave it are of the same
 * number again only where the join has passed. Where something counts on them before, no data column
 * is offered: see `dealtBeforeJoin`.
 *
 * @param plan a plan whose relations have not become V2 scans yet
 */
private[spark] final class JoinKeys(plan: LogicalPlan, conf: SQLConf)
    extends PredicateHelper
    with JoinSelectionHelper {

  private val isSubquery = plan.isInstanceOf[Subquery]

  /** A key, traced down to the relation it comes from. */
  private case class Key(expression: Expression, relation: LeafNode, isJoinedToBroadcast: Boolean)

  private val keys: Seq[Key] = plan.collect {
    case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, left, right, hint) =>
      val leftIsSmall = hintToBroadcastLeft(hint) || isSmall(left)
      val rightIsSmall = hintToBroadcastRight(hint) || isSmall(right)
      leftKeys.flatMap(traced(_, left, right, rightIsSmall)) ++
        rightKeys.flatMap(traced(_, right, left, leftIsSmall))
  }.flatten

  private def traced(
      key: Expression,
      side: LogicalPlan,
      other: LogicalPlan,
      joinsSmall: Boolean): Option[Key] =
    findExpressionAndTrackLineageDown(key, side).collect { case (origin, relation: LeafNode) =>
      Key(origin, relation, joinsSmall && hasFewKeys(other, relation))
    }

  /** Whether Spark expects to broadcast this; a V2 relation has no size before push-down. */
  private def isSmall(side: LogicalPlan): Boolean =
    !side.exists(_.isInstanceOf[DataSourceV2Relation]) && canBroadcastBySize(side, conf)

  /** Whether a side is expected to have few rows beside those of a relation; true if unknown. */
  private def hasFewKeys(side: LogicalPlan, beside: LeafNode): Boolean =
    !(side.collectLeaves() :+ beside).forall(isKnown) ||
      JoinKeys.areFew(JoinKeys.expectedRows(side), JoinKeys.expectedRows(beside))

  private def isKnown(leaf: LogicalPlan): Boolean = leaf match {
    case _: DataSourceV2Relation => false
    case _ => leaf.stats.sizeInBytes < conf.defaultSizeInBytes
  }

  private val timesRead: Map[Any, Int] =
    plan.collectWithSubqueries { case relation: LeafNode => table(relation) }
      .groupBy(identity)
      .view
      .mapValues(_.size)
      .toMap

  private def table(relation: LeafNode): Any = relation match {
    case LogicalRelation(files: HadoopFsRelation, _, _, _, _) => files.location.rootPaths.toSet
    case SubqueryScan(relation) => table(relation)
    case other => other.canonicalized
  }

  /** The V1 relation behind a scan of a subquery, which went through the optimizer before. */
  private object SubqueryScan {
    def unapply(scan: DataSourceV2ScanRelation): Option[LogicalRelation] =
      scan.relation.table match {
        case table: CachedParquetTable => table.statistics.map(_.relation)
        case _ => None
      }
  }

  /**
   * Relations whose rows an exchange deals to its partitions by turns, below any join: each row goes
   * where the number of rows before it says. Such a task must give the same rows when it runs again
   * after an executor was lost, because some partitions may have been read by then.
   */
  private val dealtBeforeJoin: Seq[LogicalPlan] = for {
    join <- plan.collect { case node if JoinKeys.joins(node) => node }
    exchange <- join.collect { case node if dealsByTurns(node) => node }
    relation <- exchange.collectLeaves()
  } yield relation

  private def dealsByTurns(node: LogicalPlan): Boolean = node match {
    case exchange: RepartitionOperation =>
      exchange.shuffle && exchange.partitioning.isInstanceOf[RoundRobinPartitioning]
    case exchange: RebalancePartitions => exchange.partitionExpressions.isEmpty
    case _ => false
  }

  /** Data columns of a relation that it should offer, besides its partition columns. */
  def offered(relation: LeafNode): AttributeSet =
    if (!conf.dynamicPartitionPruningReuseBroadcastOnly || isSubquery ||
      conf.shuffleChecksumMismatchFullRetryEnabled || timesRead(table(relation)) > 1 ||
      dealtBeforeJoin.exists(_ eq relation)) {
      AttributeSet.empty
    } else {
      AttributeSet(keys.collect {
        case Key(column: Attribute, from, true) if from eq relation => column
      })
    }

  /** What is looked for in the result of a subquery, which Spark makes a join only later. */
  private val soughtInSubqueries: Seq[Expression] = plan.collect { case Filter(condition, child) =>
    condition.collect {
      case InSubquery(values, query) => values ++ equalities(query.joinCond)
      case exists: Exists => equalities(exists.joinCond)
    }.flatten.flatMap(findExpressionAndTrackLineageDown(_, child)).map(_._1)
  }.flatten

  private def equalities(conditions: Seq[Expression]): Seq[Expression] =
    conditions.flatMap(splitConjunctivePredicates).flatMap {
      case EqualTo(left, right) => Seq(left, right)
      case _ => Nil
    }

  /**
   * Whether a key is computed from these columns. Spark filters the partitions of a V1 scan by such
   * a key, but cannot tell a V2 scan of it.
   */
  def compute(columns: AttributeSet): Boolean =
    (keys.map(_.expression) ++ soughtInSubqueries).exists(key =>
      !key.isInstanceOf[Attribute] && key.references.intersect(columns).nonEmpty)
}

private[spark] object JoinKeys {

  /** Files are compressed, so that there may be some times as many rows. */
  private val MostExpectedRows = BigInt(RowFilter.MostKeys / 2)

  /** What the driver does for a key costs about as much as dropping so many rows saves. */
  private val RowsOfAKey = 64

  /** So many keys cost a query nothing that can be told. */
  val AlwaysFew: BigInt = BigInt(8192)

  /** Whether so many keys are few enough for the rows that a scan is expected to have. */
  def areFew(keys: BigInt, rowsOfScan: => BigInt): Boolean =
    keys <= AlwaysFew || keys <= (rowsOfScan / RowsOfAKey).min(MostExpectedRows)

  /**
   * How many rows a plan is expected to give: by statistics, or by its bytes. Those of files are compressed,
   * so that it is too few.
   */
  def expectedRows(plan: LogicalPlan): BigInt =
    plan.stats.rowCount.getOrElse(
      plan.stats.sizeInBytes / EstimationUtils.getSizePerRow(plan.output))

  /** Whether this is a join, or has a condition that Spark turns into one. */
  def joins(node: LogicalPlan): Boolean = node match {
    case _: Join => true
    case other =>
      other.expressions.exists(_.exists {
        case _: Exists | _: InSubquery => true
        case _ => false
      })
  }
}
