package io.oap.spark.buildside

import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  Expression,
  ExprId,
  PlanExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.execution.{
  ColumnarToRowExec,
  FilterExec,
  InputAdapter,
  ProjectExec,
  SparkPlan,
  WholeStageCodegenExec
}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec

import io.oap.spark.scan.CachedParquetScan

/**
 * What a plan does with the rows of files, apart from which files. Plans of equal shape over equal
 * files give equal rows. Unlike a plan it holds on to no session.
 *
 * @param does the kind of step, and all that decides about its rows
 */
private[spark] final case class PlanShape(does: Seq[Any], inputs: Seq[PlanShape])

private[spark] object PlanShape {
  private val Expressions = classOf[Expression].getPackageName

  /**
   * Returns the shape of a plan whose rows follow from files alone: cached scans, filters,
   * projections, inner and semi joins with a broadcast, and no condition that may come out in
   * another way next time.
   *
   * @param plan in canonical form, where neither ids nor the names of columns tell plans apart
   */
  def of(plan: SparkPlan): Option[PlanShape] = plan match {
    case batch: BatchScanExec => scanned(batch)
    case FilterExec(condition, child) if isSettled(condition) =>
      step(Seq[Any]("filter", condition), child)
    case ProjectExec(columns, child) if columns.forall(isSettled) =>
      step("project" +: columns, child)
    case BroadcastExchangeExec(mode, child) =>
      step(Seq[Any]("broadcast", mode.canonicalized), child)
    case join: BroadcastHashJoinExec => joined(join)
    // They change how rows are passed on, not which.
    case ColumnarToRowExec(child) => of(child)
    case InputAdapter(child) => of(child)
    case WholeStageCodegenExec(child) => of(child)
    case _ => None
  }

  /** Returns the scans of a plan that has a shape, in the order of the shape. */
  def scans(plan: SparkPlan): Seq[CachedParquetScan] = plan.collect { case Scan(scan) => scan }

  private object Scan {
    // Not by its constructor: that has other parameters in each version of Spark.
    def unapply(plan: BatchScanExec): Option[CachedParquetScan] = plan.scan match {
      case scan: CachedParquetScan => Some(scan)
      case _ => None
    }
  }

  private def step(does: Seq[Any], inputs: SparkPlan*): Option[PlanShape] = {
    val shapes = inputs.flatMap(of(_))
    if (shapes.size == inputs.size) Some(PlanShape(does, shapes)) else None
  }

  private def joined(join: BroadcastHashJoinExec): Option[PlanShape] = {
    val expressions = join.leftKeys ++ join.rightKeys ++ join.condition
    val isServed = join.joinType == Inner || join.joinType == LeftSemi
    if (isServed && expressions.forall(isSettled)) {
      val does =
        Seq[Any](
          "join",
          join.joinType,
          join.buildSide,
          join.leftKeys,
          join.rightKeys,
          join.condition)
      step(does, join.left, join.right)
    } else None
  }

  /** Scans with runtime filters read other rows in each query; those with aggregates have no chunks. */
  private def scanned(batch: BatchScanExec): Option[PlanShape] = batch match {
    case Scan(scan)
        if batch.runtimeFilters.isEmpty && scan.pushedAggregate.isEmpty &&
          scan.pushedVariantExtractions.isEmpty && failsOnDamage(scan) =>
      Some(PlanShape(
        Seq[Any](
          "scan",
          scan.readSchema(),
          scan.dataSchema,
          scan.fileIndex.partitionSchema,
          scan.pushedFilters.toSeq,
          byName(scan.dataFilters),
          byName(scan.partitionFilters),
          scan.options
        ),
        Nil
      ))
    case _ => None
  }

  /** Where damaged or missing files are passed over, a fault that was there once would stay. */
  private def failsOnDamage(scan: CachedParquetScan): Boolean = {
    val conf = scan.conf
    def passesOver(option: String, default: Boolean) =
      Option(scan.options.get(option)).fold(default)(_.toBoolean)
    !passesOver("ignoreCorruptFiles", conf.ignoreCorruptFiles) &&
    !passesOver("ignoreMissingFiles", conf.ignoreMissingFiles)
  }

  /** The filters of a scan name columns of its files; ids are of one query. */
  private def byName(filters: Seq[Expression]): Set[Expression] = filters.map(_.transform {
    case column: AttributeReference => column.withExprId(ExprId(0)).withQualifier(Nil)
  }).toSet

  /**
   * Whether an expression gives the same for the same row at any time: one of Spark's own, which
   * does not ask the clock, a function of a user or another plan.
   */
  private[buildside] def isSettled(expression: Expression): Boolean =
    expression.deterministic && !expression.exists {
      case _: UserDefinedExpression | _: PlanExpression[_] => true
      case call: StaticInvoke => !call.staticObject.getName.startsWith("org.apache.spark.")
      case other => other.getClass.getPackageName != Expressions
    }
}
