package io.oap.spark.optimizer

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.{
  AttributeSet,
  DynamicPruningSubquery,
  MetadataAttribute,
  Nondeterministic,
  PredicateHelper,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, V2ScanRelationPushDown}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetTable
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.oap.spark.cluster.Cluster
import io.oap.spark.internals.{ConfigKeys, SparkInternals, SparkVersion}
import io.oap.spark.scan.{CachedParquetTable, CatalogPartitions, PlacedStages, V1Statistics}
import io.oap.spark.table.{CachedFormats, ScanCachePolicy, TableSelector, TablesRead}

/**
 * Turns the Parquet relations of a plan into relations whose scan reads through the column cache.
 *
 * Only what the cached scan serves exactly is turned: Spark's own Parquet format, V1 or V2, not
 * streaming, no `_metadata` columns, no bucketed table, no user-defined types, no encryption, no
 * table whose partitions Spark can prune only in V1: by a computed join key, or by a subquery in
 * another way than that a column equals it, and no relation of which a filter counts the rows that
 * its scan leaves. And only what the session, the table and the reader want there: see
 * [[TableSelector]]. The rest of the plan stays as it is.
 *
 * Spark optimizes a subquery before the plan it stands in, and later merges scalar subqueries over
 * the same relation into one ([[SparkVersion.mergeSubqueries]]). V2 scans with different columns would not
 * merge. Therefore a subquery without joins is left alone in its own run and turned together with
 * the plan around it, after the merge. One with joins is turned in its own run, because Spark
 * plans dynamic pruning there; but a correlated one becomes a part of the plan around it, whose
 * conditions may yet reach it, and is pruned there.
 */
case class UseColumnCache(session: SparkSession) extends Rule[LogicalPlan] with PredicateHelper {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    ConfigKeys.warnOfUnknown(conf.getAllConfs)
    if (isEnabled) turned(plan) else plan
  }

  private def turned(plan: LogicalPlan): LogicalPlan = plan match {
    // The table that is to change; Spark refuses that for V1, in its own words.
    case delete: DeleteFromTable => delete
    case subquery: Subquery if subquery.correlated || !subquery.exists(JoinKeys.joins) => subquery
    case subquery: Subquery => withCachedSubqueries(cached(subquery))
    case _ => withCachedSubqueries(cached(run(SparkVersion.mergeSubqueries, plan)))
  }

  /** Runs a rule of Spark's, unless the session leaves it out of its optimizer. */
  private def run(rule: Rule[LogicalPlan], plan: LogicalPlan): LogicalPlan = {
    val excluded = conf.optimizerExcludedRules.toSeq.flatMap(_.split(',')).map(_.trim)
    if (excluded.contains(rule.ruleName)) plan else rule(plan)
  }

  private def isEnabled: Boolean = CachedFormats.isServed(conf, CachedFormats.Parquet)

  private def cached(plan: LogicalPlan): LogicalPlan = {
    // Spark prunes the partitions of V1 catalog tables after this rule. Doing it now gives the
    // relation its pruned files and the statistics Spark alone would plan with. In the same way a
    // V1 relation gets the parts of variants it is asked for: V2 has a push-down of its own, which
    // fails on some filters.
    val settled = run(PushVariantIntoScan, run(PruneCatalogPartitions, plan))
    val joinKeys = new JoinKeys(settled, conf)
    val choice = TableSelector.of(conf)
    val isPlaced = PlacedStages.mayBeIn(plan) && !countsOnLayout(plan)
    val counted = countedByFilters(settled)
    settled.transform {
      case relation: LeafNode if counted.exists(_ eq relation) => relation
      case relation: LogicalRelation =>
        if (prunedByV1Alone(relation, settled, joinKeys)) relation
        else cachedV1(relation, joinKeys, choice, isPlaced).getOrElse(relation)
      case relation: DataSourceV2Relation =>
        cachedV2(relation, choice, isPlaced).getOrElse(relation)
    }
  }

  /**
   * Whether it matters which rows a task has: `randomSplit` makes one plan for each part, and a row
   * is in one part only if all have the same tasks. So it is with row numbers and random numbers,
   * and with the index of pandas on Spark, by which two frames of one table are put side by side.
   * An RDD of objects may be zipped with another one, or wait at a barrier, which no plan shows.
   */
  private def countsOnLayout(plan: LogicalPlan): Boolean =
    givesObjects(plan) || plan.exists {
      case _: Sample | _: AttachDistributedSequence => true
      case other => other.expressions.exists(_.exists(_.isInstanceOf[Nondeterministic]))
    }

  /**
   * Whether the result of a plan is objects: an RDD takes them. Spark may filter and rename them
   * afterwards, and puts merged subqueries beside what makes them.
   */
  private def givesObjects(plan: LogicalPlan): Boolean = plan match {
    case Project(_, child) => givesObjects(child)
    case Filter(_, child) => givesObjects(child)
    case WithCTE(child, _) => givesObjects(child)
    case _ => plan.isInstanceOf[ObjectProducer]
  }

  /**
   * Relations right below a filter that is not deterministic, such as one on random numbers, and has
   * conditions besides by which a scan drops rows. For which rows it is asked decides what it says of
   * the next ones. A cached scan drops rows as far as it comes by it, Spark's own always the same: row
   * groups and pages, by the statistics of a file. Partitions both drop alike, but by subqueries none
   * are dropped where Spark reads in V2.
   */
  private def countedByFilters(plan: LogicalPlan): Seq[LeafNode] = plan.collect {
    case Filter(condition, relation: LeafNode) if !condition.deterministic =>
      val partitions = partitionColumns(relation)
      Option.when(splitConjunctivePredicates(condition).exists(one =>
        one.deterministic && !one.references.subsetOf(partitions)))(relation)
  }.flatten

  /** Columns by which a V1 relation is partitioned. */
  private def partitionColumns(relation: LeafNode): AttributeSet = relation match {
    case LogicalRelation(files: HadoopFsRelation, output, _, _, _) =>
      AttributeSet(output.filter(column =>
        files.partitionSchema.exists(field => conf.resolver(field.name, column.name))))
    case _ => AttributeSet.empty
  }

  /** Turns the subqueries that were left alone; Spark's push-down has passed them already. */
  private def withCachedSubqueries(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressions {
      case pruning: DynamicPruningSubquery => pruning
      case subquery: SubqueryExpression
          if subquery.isCorrelated || !subquery.plan.exists(JoinKeys.joins) =>
        val turned = cached(Subquery(subquery.plan, correlated = false)).children.head
        subquery.withNewPlan(withCachedSubqueries(V2ScanRelationPushDown(turned)))
    }

  private def cachedV1(
      relation: LogicalRelation,
      joinKeys: JoinKeys,
      choice: TableSelector,
      isPlaced: Boolean): Option[LogicalPlan] =
    relation.relation match {
      case files: HadoopFsRelation
          if isServed(relation, files) && areServed(files.schema, files.options) &&
            choice.isCached(relation.catalogTable, files.location.rootPaths, files.options) =>
        fileIndex(relation.catalogTable, files).map { index =>
          relation.catalogTable.foreach(
            Cluster.of(session.sparkContext).removedFiles.tableIsRead)
          val options = new CaseInsensitiveStringMap(files.options.asJava)
          val table = new CachedParquetTable(
            ParquetTable(
              relation.catalogTable.fold("parquet")(_.identifier.unquotedString),
              // A global view may come from another session, by whose settings Spark reads it.
              files.sparkSession,
              options,
              files.location.rootPaths.map(_.toString),
              Some(files.schema),
              classOf[ParquetFileFormat]
            ),
            () => index,
            files.dataSchema,
            files.schema,
            Some(V1Statistics(relation)),
            joinKeys.offered(relation).map(_.name).toSet,
            rules(relation.catalogTable, files.location.rootPaths, files.options, choice, isPlaced)
          )
          DataSourceV2Relation(table, relation.output, None, None, options)
        }
      case _ => None
    }

  private def rules(
      table: Option[CatalogTable],
      paths: Seq[Path],
      options: Map[String, String],
      choice: TableSelector,
      isPlaced: Boolean): ScanCachePolicy = {
    val context = session.sparkContext
    val policy = ScanCachePolicy.of(context, table, paths, options, choice, isPlaced)(
      ScanCachePolicy.refreshed(session, _))
    if (policy.pinned.isDefined) Cluster.of(context).removedFiles.pinnedIsRead(session, paths)
    policy
  }

  /** Whether the plan has keys or subqueries by which Spark prunes partitions in V1 only. */
  private def prunedByV1Alone(
      relation: LogicalRelation,
      plan: LogicalPlan,
      joinKeys: JoinKeys): Boolean = {
    val columns = partitionColumns(relation)
    columns.nonEmpty && (joinKeys.compute(columns) || SubqueryPruning.isBeyond(plan, columns))
  }

  private def isServed(relation: LogicalRelation, files: HadoopFsRelation): Boolean =
    files.fileFormat.getClass == classOf[ParquetFileFormat] &&
      !relation.isStreaming && relation.stream.isEmpty &&
      !relation.output.exists(MetadataAttribute.unapply(_).isDefined) &&
      !(files.bucketSpec.isDefined && conf.bucketingEnabled)

  private def fileIndex(
      table: Option[CatalogTable],
      files: HadoopFsRelation): Option[PartitioningAwareFileIndex] = files.location match {
    case catalog: CatalogFileIndex =>
      Some(new CatalogPartitions(
        files.sparkSession,
        catalog,
        TablesRead.isRead(table, _, isWhole = true)))
    case index: PartitioningAwareFileIndex =>
      // Of a catalog table with partitions these are what the query's conditions have left.
      val isWhole =
        !table.exists(t => t.tracksPartitionsInCatalog && files.partitionSchema.nonEmpty)
      TablesRead.isRead(table, index, isWhole)
      Some(index)
    case _ => None
  }

  private def cachedV2(
      relation: DataSourceV2Relation,
      choice: TableSelector,
      isPlaced: Boolean): Option[LogicalPlan] = relation.table match {
    case table: ParquetTable
        if table.getClass == classOf[ParquetTable] &&
          areServed(table.schema, table.options.asScala.toMap) &&
          choice.isCached(
            None,
            table.paths.map(new Path(_)),
            (table.options.asScala ++ relation.options.asScala).toMap) =>
      val options = (table.options.asScala ++ relation.options.asScala).toMap
      TablesRead.isRead(None, table.fileIndex, isWhole = true)
      Some(
        relation.copy(table = new CachedParquetTable(
          table,
          () => table.fileIndex,
          table.dataSchema,
          table.schema,
          None,
          Set.empty,
          rules(None, table.fileIndex.rootPaths, options, choice, isPlaced))))
    case _ => None
  }

  private def areServed(schema: StructType, options: Map[String, String]): Boolean =
    UseColumnCache.areServed(session, conf, schema, options)
}

object UseColumnCache {

  /**
   * Settings of Parquet's reader that change what a footer says: files are encrypted, or string
   * statistics are read in the order of an old writer's bug.
   */
  private val UnservedSettings =
    Seq("parquet.crypto.factory.class", "parquet.strings.signed-min-max.enabled")

  /** Whether the cache may serve Parquet files of this schema that are read with these options. */
  private[spark] def areServed(
      session: SparkSession,
      conf: SQLConf,
      schema: StructType,
      options: Map[String, String]): Boolean =
    !SparkInternals.hasUserDefinedType(schema) &&
      !UnservedSettings.exists(key =>
        options.contains(key) || conf.contains(key) ||
          session.sparkContext.hadoopConfiguration.get(key) != null)
}
