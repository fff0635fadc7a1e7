package io.oap.spark.filescan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  Expression,
  PredicateHelper
}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.{
  ColumnarRule,
  FileSourceScanExec,
  FilterExec,
  ProjectExec,
  SparkPlan
}
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileFormat,
  HadoopFsRelation,
  LogicalRelation,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.spark.cluster.Cluster
import io.oap.spark.delta.{DeltaFormat, FollowedDeltaTable}
import io.oap.spark.optimizer.UseColumnCache
import io.oap.spark.scan.{CachedParquetScan, FiltersAbove, PlacedStages}
import io.oap.spark.table.{CachedFormats, ScanCachePolicy, TableSelector, TablesRead}

/**
 * Has scans of files read through the cache that [[UseColumnCache]] has left to Spark: V1 scans of
 * Delta's tables, of ORC and of Parquet files, and V2 scans of ORC files. They stay the scans that
 * they are, with their buckets, metadata columns, deletion vectors and column mappings; only the
 * bytes come from elsewhere.
 */
private[spark] final case class CachedFileScans(session: SparkSession) extends Rule[SparkPlan]
    with PredicateHelper {

  override def apply(plan: SparkPlan): SparkPlan =
    new OfPlan(plan).cached(plan, OperatorsAbove.Others)

  /** The scans of one plan. */
  private final class OfPlan(whole: SparkPlan) {

    /** Whether tasks may be told where to run. */
    private val isPlaced = PlacedStages.mayBeIn(whole)

    /** Has the scans of a part of the plan read through the cache. */
    def cached(plan: SparkPlan, above: OperatorsAbove): SparkPlan = plan match {
      case scan: FileSourceScanExec =>
        cachedFiles(scan, above).fold(plan)(instead(scan, _))
      case batch: BatchScanExec =>
        CachedOrcScan.of(batch.scan, session, conf, isPlaced).fold(plan)(scan =>
          instead(batch, batch.copy(scan = scan)))
      case FilterExec(condition, _) =>
        val conditions = Option.when(condition.deterministic)(
          above.conditions.getOrElse(Nil) ++ splitConjunctivePredicates(condition))
        val columns = above.columns.map(_ ++ condition.references)
        plan.mapChildren(cached(_, OperatorsAbove(conditions, columns)))
      // Spark puts one between a filter and a scan with metadata columns.
      case ProjectExec(columns, _) if columns.forall(_.deterministic) =>
        val wanted = columns.filter(column => above.asks(column.toAttribute))
        val asked = AttributeSet(wanted.flatMap(_.references))
        plan.mapChildren(cached(_, above.copy(columns = Some(asked))))
      case _ => plan.mapChildren(cached(_, OperatorsAbove.Others))
    }

    private def cachedFiles(
        scan: FileSourceScanExec,
        above: OperatorsAbove): Option[FileSourceScanExec] = {
      val source = scan.logicalLink.toSeq.flatMap(_.collectLeaves()).collectFirst {
        case relation: LogicalRelation => relation
      }
      for {
        format <- served(scan.relation)
        if scan.stream.isEmpty && !source.exists(_.isStreaming)
        table = source.flatMap(_.catalogTable).map(withProperties(_, format))
        options = scan.relation.options
        choice = TableSelector.of(conf)
        if choice.isCached(table, scan.relation.location.rootPaths, options)
      } yield {
        val columns = FileJoinKeys.columns(scan)
        val asked = AskedAbove(
          FiltersAbove.of(columns, above.conditions.getOrElse(Nil)),
          FileJoinKeys(columns, Nil),
          countsRows = above.conditions.isEmpty,
          numbersRows = scan.output.exists(column =>
            column.name == ParquetFileFormat.ROW_INDEX_TEMPORARY_COLUMN_NAME && above.asks(column))
        )
        scan.copy(relation = withCache(scan, format, table, choice, asked))
      }
    }

    private def withCache(
        scan: FileSourceScanExec,
        format: FileFormat,
        table: Option[CatalogTable],
        choice: TableSelector,
        asked: AskedAbove): HadoopFsRelation = {
      val context = session.sparkContext
      val files = scan.relation
      val paths = files.location.rootPaths
      table.foreach(Cluster.of(context).removedFiles.tableIsRead)
      TablesRead.isRead(table, files.location, isWhole = false)
      val said =
        ScanCachePolicy.of(context, table, paths, files.options, choice, isPlaced)(refreshed)
      Cluster.of(context).followedTables.onFound(
        session,
        FollowedDeltaTable.of(session, format, files.location, table, said.pinned))
      if (said.pinned.isDefined) Cluster.of(context).removedFiles.pinnedIsRead(session, paths)
      val policy = said.copy(pinned = said.pinned.map(DeltaFormat.inFiles(_, format)))
      val figures = new ReaderFigures
      context.register(figures)
      val name = table.fold(paths.mkString(", "))(_.identifier.unquotedString)
      val schemes = CachedFormat.schemes(paths, context.hadoopConfiguration)
      files.copy(
        location =
          new CachedFileIndex(files.location, placement(scan, format).filter(_ => isPlaced)),
        fileFormat =
          CachedFormat.of(format, name, schemes, keepsStatuses(files), policy, figures, asked)
      )(files.sparkSession)
    }
  }

  /**
   * Whether tasks need not ask in which version a file is there. Where missing or damaged files are
   * passed over, a file that is gone is to be missed before its first row.
   */
  private def keepsStatuses(files: HadoopFsRelation): Boolean = {
    val options = new FileSourceOptions(CaseInsensitiveMap(files.options))
    DeltaFormat.is(files.fileFormat) && !options.ignoreMissingFiles && !options.ignoreCorruptFiles
  }

  private def instead(meant: SparkPlan, cached: SparkPlan): SparkPlan = {
    cached.copyTagsFrom(meant)
    cached
  }

  /** The format of a relation whose files may come from the cache. */
  private def served(files: HadoopFsRelation): Option[FileFormat] = {
    def isWanted(format: String) = CachedFormats.isServed(conf, format)
    files.fileFormat match {
      case _: CachedFormat => None
      case delta: ParquetFileFormat if DeltaFormat.is(delta) =>
        Some(delta).filter(_ => isWanted(CachedFormats.Delta))
      case parquet if parquet.getClass == classOf[ParquetFileFormat] =>
        Some(parquet).filter(_ =>
          isTable(files) && isWanted(CachedFormats.Parquet) &&
            UseColumnCache.areServed(session, conf, files.schema, files.options))
      case orc if orc.getClass == classOf[OrcFileFormat] =>
        Some(orc).filter(_ => isTable(files) && isWanted(CachedFormats.Orc))
      case _ => None
    }
  }

  /** Other indices are of those who keep tables in another way, and files of their own. */
  private def isTable(files: HadoopFsRelation): Boolean = files.location match {
    case _: PartitioningAwareFileIndex | _: CatalogFileIndex => true
    case _ => false
  }

  /** The table with the properties that its log says; a catalog may not know them. */
  private def withProperties(table: CatalogTable, format: FileFormat): CatalogTable =
    table.copy(properties = table.properties ++ DeltaFormat.properties(format))

  private def placement(
      scan: FileSourceScanExec,
      format: FileFormat): Option[FilePlacement] =
    CachedParquetScan.placementRules(conf).filterNot(_ => session.sparkContext.isLocal).map {
      val names = DeltaFormat.physicalNames(format)
      val columns = scan.requiredSchema.fieldNames.toSeq.map(name => names.getOrElse(name, name))
      new FilePlacement(session, conf, columns, _)
    }

  /** The catalog may not know the properties that the table's log has. */
  private def refreshed(table: CatalogTable): CatalogTable = {
    val now = ScanCachePolicy.refreshed(session, table)
    now.copy(properties = table.properties ++ now.properties)
  }
}

/**
 * Filters and projections that all rows of a part of a plan come to next.
 *
 * @param conditions of the filters; nothing where the next filter counts the rows that it is asked for
 * @param columns what they, and those above them, ask for; nothing where that may be any column
 */
private final case class OperatorsAbove(
    conditions: Option[Seq[Expression]],
    columns: Option[AttributeSet]) {

  def asks(column: Attribute): Boolean = columns.forall(_.contains(column))
}

private object OperatorsAbove {

  /** Operators of other kinds. */
  val Others: OperatorsAbove = OperatorsAbove(Some(Nil), None)
}

private[spark] object CachedFileScans {

  /** As what a session takes it for plans that are settled at once. */
  final case class Columnar(session: SparkSession) extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = CachedFileScans(session)
  }
}
