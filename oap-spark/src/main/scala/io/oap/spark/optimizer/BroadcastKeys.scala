package io.oap.spark.optimizer

import java.util.IdentityHashMap

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  Attribute,
  DynamicPruningExpression,
  Expression,
  IsNotNull,
  NamedExpression
}
import org.apache.spark.sql.catalyst.optimizer.BuildRight
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.execution.{
  ColumnarToRowExec,
  FileSourceScanExec,
  FilterExec,
  InputAdapter,
  InSubqueryExec,
  LeafExecNode,
  ProjectExec,
  SparkPlan,
  SubqueryBroadcastExec,
  WholeStageCodegenExec
}
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  BroadcastQueryStageExec,
  QueryStageExec
}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec

import io.oap.spark.scan.CachedParquetScan

/**
 * The join keys that the scans of a stage of an adaptive plan may drop rows by: those of broadcasts
 * that it joins with, which are there when the stage begins. So nothing runs for them, and how many
 * they are is known.
 *
 * A key goes down from its join to the scan through what gives a row for each row it gets, or none,
 * whatever other rows there are: deterministic filters and projections, and rows of other broadcast
 * joins. It passes no exchange. So the rows that leave the stage are the same, in the same order.
 *
 * For rules of stages only: then equal exchanges have equal keys, since Spark looks for an equal one
 * before these rules, and again after them. A rule of whole plans would see a broadcast in a query that
 * is not yet there in its subquery.
 *
 * @param plan of the stage
 */
private[spark] final class BroadcastKeys(plan: SparkPlan) extends Logging {

  /** Keys on their way down, with the columns that are compared with them. */
  private type Keys = Seq[(Attribute, JoinedBroadcast)]

  private lazy val found: IdentityHashMap[LeafExecNode, Keys] = {
    val all = new IdentityHashMap[LeafExecNode, Keys]
    pass(plan, Nil, all)
    all
  }

  /**
   * Gives conditions on columns of a scan of the plan, as Spark's dynamic pruning has them. None where
   * that is off, nor where something fails, as the joins ask the same.
   *
   * @param areOfUse whether so many keys on a column are of use to the scan
   */
  def conditions(scan: LeafExecNode)(areOfUse: (Attribute, BigInt) => Boolean): Seq[Expression] =
    try
      if (!scan.conf.dynamicPartitionPruningEnabled) Nil
      else found.getOrDefault(scan, Nil).collect {
        case (column, keys)
            if CachedParquetScan.equalMeansSameBytes(column.dataType) &&
              keys.rows.exists(rows => areOfUse(column, rows) && keys.leaveOut(rows)) =>
          keys.contain(column)
      }
    catch {
      case NonFatal(e) =>
        logDebug(s"${scan.nodeName} gets no join keys", e)
        Nil
    }

  private def pass(
      node: SparkPlan,
      keys: Keys,
      found: IdentityHashMap[LeafExecNode, Keys]): Unit = node match {
    case scan: LeafExecNode =>
      found.put(scan, keys.filter { case (column, _) => scan.outputSet.contains(column) }): Unit
    case filter: FilterExec if filter.condition.deterministic => pass(filter.child, keys, found)
    case project: ProjectExec if project.projectList.forall(_.deterministic) =>
      pass(project.child, through(project.projectList, keys), found)
    case join: BroadcastHashJoinExec if join.condition.forall(_.deterministic) =>
      val (streamed, built) =
        if (join.buildSide == BuildRight) (join.left, join.right) else (join.right, join.left)
      pass(streamed, keys ++ ofJoin(join, built), found)
      pass(built, Nil, found)
    case other => other.children.foreach(pass(_, Nil, found))
  }

  private def through(columns: Seq[NamedExpression], keys: Keys): Keys = for {
    (key, broadcast) <- keys
    column <- BroadcastKeys.projected(columns, key)
  } yield column -> broadcast

  /** Keys of a join that gives nothing for a row without one. */
  private def ofJoin(join: BroadcastHashJoinExec, built: SparkPlan): Keys =
    (join.joinType, built) match {
      case (Inner | LeftSemi, stage: BroadcastQueryStageExec) if stage.isMaterialized =>
        val (streamed, keys) =
          if (join.buildSide == BuildRight) (join.leftKeys, join.rightKeys)
          else (join.rightKeys, join.leftKeys)
        streamed.zipWithIndex.collect { case (column: Attribute, index) =>
          column -> new JoinedBroadcast(stage, keys, index)
        }
      case _ => Nil
    }
}

private[spark] object BroadcastKeys {

  /** The column that a projection gives as another, or as itself. */
  def projected(columns: Seq[NamedExpression], key: Attribute): Option[Attribute] =
    columns.collectFirst {
      case column: Attribute if column.exprId == key.exprId => column
      case alias @ Alias(column: Attribute, _) if alias.exprId == key.exprId => column
    }

  /** Whether a condition asks nothing of values but that they are there. */
  def onlyNotNull(condition: Expression): Boolean = condition match {
    case And(left, right) => onlyNotNull(left) && onlyNotNull(right)
    case other => other.isInstanceOf[IsNotNull]
  }
}

/**
 * The keys of a broadcast that is there.
 *
 * @param keys all that the broadcast is joined by
 * @param index of the one that this is about
 */
private final class JoinedBroadcast(
    stage: BroadcastQueryStageExec,
    keys: Seq[Expression],
    index: Int) {

  /** Rows of the broadcast; nothing where Spark has not counted them. */
  def rows: Option[BigInt] = stage.getRuntimeStatistics.rowCount

  /**
   * Whether so many keys are expected to leave rows out. Those of a whole table do not, as nearly every
   * row has one of them; where they are very few they cost nothing either.
   */
  def leaveOut(rows: BigInt): Boolean =
    rows <= JoinKeys.AlwaysFew || !JoinedBroadcast.isWhole(stage)

  /** The condition that a column has one of the keys, as Spark's dynamic pruning has it. */
  def contain(column: Attribute): Expression = {
    val id = NamedExpression.newExprId
    val values = SubqueryBroadcastExec(s"joinkeys#${id.id}", Seq(index), keys, stage)
    DynamicPruningExpression(InSubqueryExec(column, values, id))
  }
}

private object JoinedBroadcast {

  /** Whether a plan gives all rows of a table but those with nulls. */
  private def isWhole(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec => isWhole(stage.plan)
    case reused: ReusedExchangeExec => isWhole(reused.child)
    case adaptive: AdaptiveSparkPlanExec => isWhole(adaptive.executedPlan)
    case filter: FilterExec => BroadcastKeys.onlyNotNull(filter.condition) && isWhole(filter.child)
    case _: Exchange | _: ProjectExec | _: ColumnarToRowExec | _: WholeStageCodegenExec |
        _: InputAdapter =>
      plan.children.forall(isWhole)
    // What is pushed down to a scan stands in a filter above it, too, unless it is about partitions.
    case cached: InMemoryTableScanExec => isWhole(cached.relation.cachedPlan)
    case files: FileSourceScanExec => files.partitionFilters.isEmpty
    case batch: BatchScanExec =>
      batch.scan match {
        case scan: CachedParquetScan =>
          scan.partitionFilters.isEmpty && batch.runtimeFilters.isEmpty
        case _ => false
      }
    case _ => false
  }
}
