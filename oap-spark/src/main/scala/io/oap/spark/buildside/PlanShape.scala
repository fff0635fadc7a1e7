package io.oap.spark.buildside

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{
  Add,
  AttributeReference,
  DynamicPruningExpression,
  Expression,
  ExprId,
  Greatest,
  InSet,
  Least,
  MultiCommutativeOp,
  Multiply,
  PlanExpression,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.physical.{
  BroadcastMode,
  HashPartitioning,
  IdentityBroadcastMode,
  Partitioning
}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.{
  ColumnarToRowExec,
  FileSourceScanExec,
  FilterExec,
  InputAdapter,
  ProjectExec,
  SparkPlan,
  WholeStageCodegenExec
}
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, TableCacheQueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, Exchange, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, HashedRelationBroadcastMode}
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.filescan.CachedFormat
import io.oap.spark.iceberg.RowsOfIceberg
import io.oap.spark.scan.CachedParquetScan

/**
 * What a plan does with the rows of files, apart from which files. Plans of equal shape over equal
 * files give equal rows. A cached DataFrame counts as a file. Unlike a plan it holds on to no
 * session.
 *
 * @param does the kind of step, and all that decides about its rows
 */
private[spark] final case class PlanShape(does: Seq[Any], inputs: Seq[PlanShape]) {

  /** How many columns and values it names, about. */
  def values: Long = does.iterator.map(PlanShape.valuesOf).sum + inputs.iterator.map(_.values).sum

  /** Whether rows come from one scan, without a join. */
  def isOfOneScan: Boolean = inputs.size < 2 && inputs.forall(_.isOfOneScan)
}

private[spark] object PlanShape {
  private val Expressions = classOf[Expression].getPackageName

  /**
   * Returns the shape of a plan whose rows follow from files or cached DataFrames alone: cached scans,
   * filters, projections, inner and semi joins with a broadcast, and no condition that may come out
   * in another way next time.
   *
   * @param plan in canonical form, where neither ids nor the names of columns tell plans apart
   */
  def of(plan: SparkPlan): Option[PlanShape] = plan match {
    case batch: BatchScanExec => scanned(batch).map(PlanShape(_, Nil))
    case scan: FileSourceScanExec => scanned(scan).map(PlanShape(_, Nil))
    case InMemoryTableScanExec(columns, conditions, _) if conditions.forall(isSettled) =>
      Some(PlanShape(Seq("frame", columns, conditions), Nil))
    // Its canonical form is not that of what it runs, unlike those of other stages.
    case stage: TableCacheQueryStageExec => of(stage.plan.canonicalized)
    case FilterExec(condition, child) if isSettled(condition) =>
      step(Seq[Any]("filter", condition), child)
    case ProjectExec(columns, child) if columns.forall(isSettled) =>
      step("project" +: columns, child)
    case BroadcastExchangeExec(mode, child) if isSettled(mode) =>
      step(Seq[Any]("broadcast", mode.canonicalized), child)
    case join: BroadcastHashJoinExec => joined(join)
    // They change how rows are passed on, not which.
    case ColumnarToRowExec(child) => of(child)
    case InputAdapter(child) => of(child)
    case WholeStageCodegenExec(child) => of(child)
    case _ => None
  }

  /**
   * Returns what a plan that has a shape takes rows from, in the order of the shape: its scans, and
   * the broadcasts that are made before it, without what is below them.
   */
  def sources(plan: SparkPlan): Seq[SparkPlan] = plan match {
    case stage: QueryStageExec => sources(stage.plan)
    case reused: ReusedExchangeExec => sources(reused.child)
    case exchange: Exchange => Seq(exchange)
    case scan if scan.children.isEmpty => Seq(scan)
    case other => other.children.flatMap(sources)
  }

  /**
   * Whether a plan needs what Spark says of files: names, times, and where a split begins. With Delta's
   * deletion vectors scans have it all, and a projection drops it.
   *
   * @param plan not in canonical form, where columns do not tell what they are
   */
  def needsMetadata(plan: SparkPlan): Boolean = {
    val columns = mutable.Set.empty[ExprId]
    def needs(expression: Expression) =
      expression.references.exists(column => columns(column.exprId))
    def isNeeded(node: SparkPlan): Boolean = node match {
      case stage: QueryStageExec => isNeeded(stage.plan)
      case reused: ReusedExchangeExec => isNeeded(reused.child)
      case scan: FileSourceScanExec =>
        columns ++= scan.fileConstantMetadataColumns.map(_.exprId)
        false
      case ProjectExec(projected, child) =>
        val isBelow = isNeeded(child)
        columns ++= projected.filter(needs).map(_.exprId)
        isBelow
      case exchange: Exchange => isNeeded(exchange.child) || exchange.child.output.exists(needs)
      case other => other.children.exists(isNeeded) || other.expressions.exists(needs)
    }
    isNeeded(plan) || plan.output.exists(needs)
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

  /** Filters that Spark gives a scan may be of a join above the broadcast; Iceberg's scans tell. */
  private def scanned(batch: BatchScanExec): Option[Seq[Any]] = batch.scan match {
    case scan: CachedParquetScan if batch.runtimeFilters.isEmpty => ofParquet(scan)
    case scan if RowsOfIceberg.of(scan).isDefined && failsOnDamage(batch.conf, _ => None) =>
      Some(Seq[Any]("iceberg", scan.readSchema()))
    case _ => None
  }

  /** What a scan says of files is that of the listing, which may be old. */
  private def scanned(scan: FileSourceScanExec): Option[Seq[Any]] = {
    val options = CaseInsensitiveMap(scan.relation.options)
    // Join keys leave out rows that a join of the same shape leaves out, too.
    val dataFilters = scan.dataFilters.filterNot(_.isInstanceOf[DynamicPruningExpression])
    val filters = scan.partitionFilters ++ dataFilters
    scan.relation.fileFormat match {
      case format: CachedFormat
          if scan.stream.isEmpty && filters.forall(isSettled) &&
            failsOnDamage(scan.conf, options.get) =>
        Some(Seq[Any](
          "files",
          format.said,
          scan.relation.dataSchema,
          scan.relation.partitionSchema,
          scan.relation.options,
          scan.requiredSchema,
          scan.output,
          scan.partitionFilters,
          dataFilters,
          scan.optionalBucketSet.map(_.iterator.toSeq)
        ))
      case _ => None
    }
  }

  /** Scans with aggregates have no chunks. */
  private def ofParquet(scan: CachedParquetScan): Option[Seq[Any]] =
    Option.when(
      scan.pushedAggregate.isEmpty && scan.pushedVariantExtractions.isEmpty &&
        failsOnDamage(scan.conf, option => Option(scan.options.get(option)))) {
      Seq[Any](
        "scan",
        scan.readSchema(),
        scan.dataSchema,
        scan.fileIndex.partitionSchema,
        scan.pushedFilters.toSeq,
        byName(scan.dataFilters),
        byName(scan.partitionFilters),
        scan.options
      )
    }

  /** Where damaged or missing files are passed over, a fault that was there once would stay. */
  private def failsOnDamage(conf: SQLConf, option: String => Option[String]): Boolean = {
    def passesOver(name: String, default: Boolean) = option(name).fold(default)(_.toBoolean)
    !passesOver("ignoreCorruptFiles", conf.ignoreCorruptFiles) &&
    !passesOver("ignoreMissingFiles", conf.ignoreMissingFiles)
  }

  /** The filters of a scan name columns of its files; ids are of one query. */
  private def byName(filters: Seq[Expression]): Set[Expression] = filters.map(_.transform {
    case column: AttributeReference => column.withExprId(ExprId(0)).withQualifier(Nil)
  }).toSet

  private def valuesOf(part: Any): Long = part match {
    case set: InSet => set.hset.size.toLong
    case expression: Expression if expression.children.nonEmpty =>
      expression.children.iterator.map(valuesOf).sum
    case many: Iterable[_] => many.iterator.map(valuesOf).sum
    case _ => 1
  }

  /** Whether rows become a relation by what gives the same for the same row at any time. */
  def isSettled(mode: BroadcastMode): Boolean = mode match {
    case IdentityBroadcastMode => true
    case HashedRelationBroadcastMode(keys, _) => keys.forall(isSettled)
    case _ => false
  }

  /** Whether rows go to partitions by what gives the same for the same row at any time. */
  def isSettled(partitioning: Partitioning): Boolean = partitioning match {
    case HashPartitioning(keys, _) => keys.forall(isSettled)
    case _ => false
  }

  /**
   * Whether an expression gives the same for the same row at any time: one of Spark's own, which
   * does not ask the clock, a function of a user or another plan. And whether its canonical form
   * tells what it gives: of more than two operands of a sum or a product it does not tell in which
   * order they are rounded or overflow, of a greatest or least value not which of equal operands it
   * is, such as 0.0 and -0.0.
   */
  private[buildside] def isSettled(expression: Expression): Boolean =
    expression.deterministic && !expression.exists {
      case _: UserDefinedExpression | _: PlanExpression[_] => true
      case call: StaticInvoke => !call.staticObject.getName.startsWith("org.apache.spark.")
      case many: MultiCommutativeOp => many.opCls == classOf[Add] || many.opCls == classOf[Multiply]
      case sum: Add => sum.children.exists(_.isInstanceOf[Add])
      case product: Multiply => product.children.exists(_.isInstanceOf[Multiply])
      case _: Greatest | _: Least => true
      case other => other.getClass.getPackageName != Expressions
    }
}
