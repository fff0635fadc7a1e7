package io.oap.spark.framescan

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{
  And,
  Attribute,
  AttributeSet,
  DynamicPruningSubquery,
  Expression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{
  Filter,
  Join,
  LocalRelation,
  LogicalPlan,
  Project,
  Range,
  Subquery
}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation

import io.oap.spark.dataframe.{DataFrames, FilledBatches}
import io.oap.spark.optimizer.{BroadcastKeys, JoinKeys}
import io.oap.spark.scan.CachedParquetScan

/**
 * Has a cached DataFrame that is shuffled for a join leave out rows by the keys of another join, which
 * Spark does with a broadcast only after the shuffle: the fewer rows are shuffled. It is Spark's own
 * dynamic pruning, which Spark gives to tables of files only. Joins without a shuffle before them
 * are left to [[ReadFrames]], which knows how many keys there are.
 *
 * Equal exchanges are made once only while they stay equal. So a DataFrame that stands in the plan more
 * than once gets no keys, nor does one in a subquery, which may stand in the plan around it.
 *
 * It comes after the rules of Spark's own that take a dynamic pruning away which is above anything but a
 * table of files.
 */
private[spark] object KeysBelowShuffles
    extends Rule[LogicalPlan]
    with JoinSelectionHelper
    with Logging {

  /** Has a session apply the rule. An extension has no door of its own to so late a place. */
  def addTo(spark: SparkSession): Unit = {
    val rules = spark.experimental.extraOptimizations
    if (!rules.contains(this)) spark.experimental.extraOptimizations = rules :+ this
  }

  override def apply(plan: LogicalPlan): LogicalPlan = {
    // With full retries Spark compares what a task shuffles when it runs again. A scan drops rows by keys as
    // far as it comes by it.
    val isOn = conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled &&
      conf.adaptiveExecutionEnabled && conf.inMemoryPartitionPruning && DataFrames.areOn(conf) &&
      !conf.shuffleChecksumMismatchFullRetryEnabled && !plan.isInstanceOf[Subquery] &&
      !plan.isStreaming
    try if (isOn) pruned(plan) else plan
    catch {
      case NonFatal(e) =>
        logDebug("Cached DataFrames get no join keys before their shuffles", e)
        plan
    }
  }

  private def pruned(plan: LogicalPlan): LogicalPlan = {
    val frames = plan.collectWithSubqueries { case frame: InMemoryRelation => frame }
    val columns = frames.filter { frame =>
      frames.count(_.cacheBuilder eq frame.cacheBuilder) == 1 && isOurs(frame)
    }.map(_.outputSet)
    val prunings =
      if (columns.isEmpty) Nil
      else proposed(plan).filter(one => columns.exists(_.contains(one.column)))
    if (prunings.isEmpty) plan
    else plan.transformUp { case frame: InMemoryRelation =>
      prunings.filter(one => frame.outputSet.contains(one.column)).map(_.condition)
        .reduceOption(And).fold[LogicalPlan](frame)(Filter(_, frame))
    }
  }

  /** Whether its batches are there and are those that drop rows by conditions. */
  private def isOurs(frame: InMemoryRelation): Boolean = {
    val builder = frame.cacheBuilder
    builder.isCachedColumnBuffersLoaded && FilledBatches.areIn(builder.cachedColumnBuffers)
  }

  /** What a plan may add. It does not yet have it: Spark applies the rule until nothing changes. */
  private def proposed(plan: LogicalPlan): Seq[Pruning] = {
    val all = plan.collect {
      case ExtractEquiJoinKeys(Inner, leftKeys, rightKeys, _, _, left, right, hint) =>
        of(left, leftKeys, right, rightKeys, hintToBroadcastRight(hint)) ++
          of(right, rightKeys, left, leftKeys, hintToBroadcastLeft(hint))
      case ExtractEquiJoinKeys(LeftSemi, leftKeys, rightKeys, _, _, left, right, hint) =>
        of(left, leftKeys, right, rightKeys, hintToBroadcastRight(hint))
    }.flatten
    val pruned = AttributeSet(plan.flatMap(_.expressions).flatMap(_.collect {
      case pruning: DynamicPruningSubquery => pruning.pruningKey
    }))
    // A side that is changed itself would not be the broadcast that the keys are to come from.
    all.filterNot { one =>
      pruned.contains(one.column) || all.exists(_.side.exists(_.outputSet.contains(one.column)))
    }
  }

  /**
   * Keys of one side of a join for the other.
   *
   * @param isHinted whether the query asks for a broadcast of the side that the keys come from
   */
  private def of(
      pruned: LogicalPlan,
      prunedKeys: Seq[Expression],
      side: LogicalPlan,
      keys: Seq[Expression],
      isHinted: Boolean): Seq[Pruning] =
    if (!(isHinted || canBroadcastBySize(side, conf)) || !isSelective(side) || !isRepeatable(side))
      Nil
    else
      for {
        (key: Attribute, index) <- prunedKeys.zipWithIndex
        (column, frame) <- origin(pruned, key, isShuffled = false).toSeq
        if CachedParquetScan.equalMeansSameBytes(column.dataType) &&
          JoinKeys.areFew(JoinKeys.expectedRows(side), JoinKeys.expectedRows(frame))
      } yield {
        val condition =
          DynamicPruningSubquery(column, side, keys, Seq(index), onlyInBroadcast = true)
        Pruning(column, side, condition)
      }

  /** Whether there is a condition on values. */
  private def isSelective(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) => !BroadcastKeys.onlyNotNull(condition)
    case _ => false
  }

  /**
   * Whether the same rows come out whenever it runs. Spark makes the broadcast of a cached DataFrame once for
   * the keys and once for the join: the stages that read it are not equal.
   */
  private def isRepeatable(plan: LogicalPlan): Boolean = plan match {
    case Project(columns, child) => columns.forall(isRepeatable) && isRepeatable(child)
    case Filter(condition, child) => isRepeatable(condition) && isRepeatable(child)
    // Without a disk Spark drops rows for want of room, and computes them again, perhaps others.
    case InMemoryRelation(_, builder, _) =>
      builder.storageLevel.useDisk && builder.logicalPlan.deterministic
    case LogicalRelation(_: HadoopFsRelation, _, _, _, _) => true
    case _: DataSourceV2ScanRelation | _: LocalRelation | _: Range => true
    case _ => false
  }

  private def isRepeatable(expression: Expression): Boolean =
    expression.deterministic && !SubqueryExpression.hasSubquery(expression)

  /**
   * The column of a cached DataFrame that a key is, where the DataFrame is shuffled on the way: through
   * what gives a row for each row it gets, or none, whatever other rows there are, and joins.
   *
   * @param isShuffled whether what the plan gives is shuffled
   */
  private def origin(
      plan: LogicalPlan,
      key: Attribute,
      isShuffled: Boolean): Option[(Attribute, InMemoryRelation)] = plan match {
    case Project(columns, child) if columns.forall(_.deterministic) =>
      BroadcastKeys.projected(columns, key).flatMap(origin(child, _, isShuffled))
    case Filter(condition, child) if condition.deterministic => origin(child, key, isShuffled)
    case Join(left, right, Inner | LeftSemi, condition, hint)
        if condition.forall(_.deterministic) =>
      val isBroadcast = canBroadcastBySize(left, conf) || canBroadcastBySize(right, conf) ||
        hintToBroadcastLeft(hint) || hintToBroadcastRight(hint)
      val side = if (left.outputSet.contains(key)) left else right
      origin(side, key, isShuffled || !isBroadcast)
    case frame: InMemoryRelation if isShuffled =>
      frame.output.find(_.exprId == key.exprId).map(_ -> frame)
    case _ => None
  }

  /**
   * @param column that must have one of the keys
   * @param side that the keys are of
   */
  private final case class Pruning(column: Attribute, side: LogicalPlan, condition: Expression)
}
