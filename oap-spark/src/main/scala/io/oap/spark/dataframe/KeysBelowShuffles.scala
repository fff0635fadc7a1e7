package io.oap.spark.dataframe

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  And,
  Attribute,
  DynamicPruningSubquery,
  Expression,
  IsNotNull,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.optimizer.JoinSelectionHelper
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.columnar.InMemoryRelation

import io.oap.spark.optimizer.JoinKeys
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
 * It comes after all rules of Spark's own: these take a dynamic pruning away that is above anything but a
 * table of files.
 */
private[spark] object KeysBelowShuffles
    extends Rule[LogicalPlan]
    with PredicateHelper
    with JoinSelectionHelper {

  /** Has a session apply the rule. Who sets such rules of his own later leaves it out. */
  def addTo(spark: SparkSession): Unit = {
    val rules = spark.experimental.extraOptimizations
    if (!rules.contains(this)) spark.experimental.extraOptimizations = rules :+ this
  }

  override def apply(plan: LogicalPlan): LogicalPlan = {
    val isOn = conf.dynamicPartitionPruningEnabled && conf.exchangeReuseEnabled &&
      conf.adaptiveExecutionEnabled && !plan.isInstanceOf[Subquery] && DataFrames.areOn(conf)
    val frames =
      if (isOn) plan.collectWithSubqueries { case frame: InMemoryRelation => frame } else Nil
    val columns = frames.groupBy(_.cacheBuilder).values.collect { case Seq(once) => once.outputSet }
    val prunings = of(plan).filter(one => columns.exists(_.contains(one.column)))
    if (prunings.isEmpty) plan
    else plan.transformUp { case frame: InMemoryRelation =>
      prunings.filter(one => frame.outputSet.contains(one.column)).map(_.condition)
        .reduceOption(And).fold[LogicalPlan](frame)(Filter(_, frame))
    }
  }

  /** What a plan may add. It does not yet have it: Spark applies the rule until nothing changes. */
  private def of(plan: LogicalPlan): Seq[Pruning] = {
    val all = plan.collect {
      case ExtractEquiJoinKeys(Inner, leftKeys, rightKeys, _, _, left, right, hint) =>
        of(left, leftKeys, right, rightKeys, hintToBroadcastRight(hint)) ++
          of(right, rightKeys, left, leftKeys, hintToBroadcastLeft(hint))
      case ExtractEquiJoinKeys(LeftSemi, leftKeys, rightKeys, _, _, left, right, hint) =>
        of(left, leftKeys, right, rightKeys, hintToBroadcastRight(hint))
    }.flatten
    val known = plan.collect { case node =>
      node.expressions.flatMap(_.collect { case pruning: DynamicPruningSubquery =>
        pruning.pruningKey.references.toSeq
      }.flatten)
    }.flatten
    // A side that is changed itself would not be the broadcast that the keys are to come from.
    all.filterNot { one =>
      known.exists(_.exprId == one.column.exprId) ||
      all.exists(_.side.exists(_.outputSet.contains(one.column)))
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
    if (!(isHinted || canBroadcastBySize(side, conf)) || !isSelective(side)) Nil
    else
      for {
        (key: Attribute, index) <- prunedKeys.zipWithIndex
        (column, frame) <- shuffled(pruned, key, isBelow = false).toSeq
        if CachedParquetScan.equalMeansSameBytes(column.dataType) &&
          JoinKeys.areFew(JoinKeys.expectedRows(side), JoinKeys.expectedRows(frame))
      } yield {
        val condition =
          DynamicPruningSubquery(column, side, keys, Seq(index), onlyInBroadcast = true)
        Pruning(column, side, condition)
      }

  /** Whether there is a condition on values. */
  private def isSelective(plan: LogicalPlan): Boolean = plan.exists {
    case Filter(condition, _) =>
      splitConjunctivePredicates(condition).exists(!_.isInstanceOf[IsNotNull])
    case _ => false
  }

  /**
   * The column of a cached DataFrame that a key is, where the DataFrame is shuffled on the way: through
   * what gives a row for each row it gets, or none, whatever other rows there are, and joins.
   *
   * @param isBelow whether there was a shuffle above the plan
   */
  private def shuffled(
      plan: LogicalPlan,
      key: Attribute,
      isBelow: Boolean): Option[(Attribute, InMemoryRelation)] = plan match {
    case Project(columns, child) if columns.forall(_.deterministic) =>
      columns.collectFirst {
        case column: Attribute if column.exprId == key.exprId => column
        case alias @ Alias(column: Attribute, _) if alias.exprId == key.exprId => column
      }.flatMap(shuffled(child, _, isBelow))
    case Filter(condition, child) if condition.deterministic => shuffled(child, key, isBelow)
    case Join(left, right, Inner | LeftSemi, condition, hint)
        if condition.forall(_.deterministic) =>
      val isBroadcast = canBroadcastBySize(left, conf) || canBroadcastBySize(right, conf) ||
        hintToBroadcastLeft(hint) || hintToBroadcastRight(hint)
      val side = if (left.outputSet.contains(key)) left else right
      shuffled(side, key, isBelow || !isBroadcast)
    case frame: InMemoryRelation if isBelow =>
      frame.output.find(_.exprId == key.exprId).map(_ -> frame)
    case _ => None
  }

  /**
   * @param column that must have one of the keys
   * @param side that the keys are of
   */
  private final case class Pruning(column: Attribute, side: LogicalPlan, condition: Expression)
}
