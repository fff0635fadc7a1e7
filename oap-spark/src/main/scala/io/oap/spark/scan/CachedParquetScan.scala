package io.oap.spark.scan

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{Attribute, EqualNullSafe, EqualTo, Expression}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.execution.datasources.{
  FilePartition,
  PartitionDirectory,
  PartitionedFile,
  PartitioningAwareFileIndex
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.v2.parquet.{
  ParquetPartitionReaderFactory,
  ParquetScan
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.{And, Filter, In, Not, Or}
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

import io.oap.common.OapConfig
import io.oap.spark.filter.RowFilter
import io.oap.spark.internals.SparkInternals
import io.oap.spark.placement.PlacementRules
import io.oap.spark.read.{
  CachedParquetReaderFactory,
  HadoopFiles,
  JoinedConditions,
  JoinedPartition,
  PlannedConditions,
  ScanMetrics,
  WarmTasks
}
import io.oap.spark.table.{PinnedColumns, ScanCachePolicy}

/**
 * A scan of Parquet files whose tasks take column chunks from the cache.
 *
 * It offers its partition columns and the data columns that join with a broadcast (see
 * [[JoinKeys]]) for runtime filtering: Spark's dynamic pruning then hands over the join keys of the
 * dimensions as IN predicates. Those on partition columns drop files when
 * the scan is planned, those on data columns drop row groups when a task reads a footer.
 *
 * @param parquet what Spark's push-down has settled: columns, filters, aggregates, files
 * @param statistics what Spark alone would plan with, where the table was a V1 relation
 * @param offered data columns offered for runtime filtering
 * @param tableRules what users want of the table's chunks in the pools
 */
final class CachedParquetScan(
    parquet: ParquetScan,
    statistics: Option[V1Statistics],
    offered: Set[String],
    tableRules: ScanCachePolicy)
    extends ParquetScan(
      parquet.sparkSession,
      parquet.hadoopConf,
      parquet.fileIndex,
      parquet.dataSchema,
      parquet.readDataSchema,
      parquet.readPartitionSchema,
      if (statistics.isDefined) parquet.pushedFilters.map(CachedParquetScan.inOneOrder)
      else parquet.pushedFilters,
      parquet.options,
      parquet.pushedAggregate,
      parquet.partitionFilters,
      if (statistics.isDefined) CachedParquetScan.onDataOnly(parquet) else parquet.dataFilters,
      parquet.pushedVariantExtractions
    )
    with SupportsRuntimeV2Filtering
    with CachedScan {

  // Spark tells them right before it plans the partitions that they filter, on the same thread.
  @transient private val told = new ThreadLocal[Seq[Predicate]]

  // Of the last planning with join keys, and its number. They are not part of the scan's identity,
  // since Spark compares runtime filters by itself.
  @volatile private var lastJoined: Option[JoinedConditions] = None

  override def filterAttributes(): Array[NamedReference] =
    if (pushedAggregate.isDefined) Array.empty
    else {
      val data = readDataSchema.fields.filter(field =>
        offered.contains(field.name) && CachedParquetScan.equalMeansSameBytes(field.dataType))
      val partition = readPartitionSchema.fields.filterNot(field => hasOneValue(field.name))
      (data ++ partition)
        .map(field => Expressions.column(SparkInternals.quoted(field.name)))
    }

  /** Whether the values that a column may have can be told by [[filter]]. */
  def takesKeysOf(column: String): Boolean =
    readPartitionSchema.exists(_.name == column) || readDataSchema.exists(field =>
      field.name == column && CachedParquetScan.equalMeansSameBytes(field.dataType))

  /** Whether the query itself fixes a partition column, so that no join key can narrow it. */
  private def hasOneValue(partitionColumn: String): Boolean = partitionFilters.exists {
    case EqualTo(column: Attribute, value) if value.foldable => column.name == partitionColumn
    case EqualTo(value, column: Attribute) if value.foldable => column.name == partitionColumn
    case EqualNullSafe(column: Attribute, value) if value.foldable => column.name == partitionColumn
    case EqualNullSafe(value, column: Attribute) if value.foldable => column.name == partitionColumn
    case _ => false
  }

  override def filter(predicates: Array[Predicate]): Unit = told.set(predicates.toSeq)

  override def planInputPartitions(): Array[InputPartition] = {
    val filters = runtimeFilters(Option(told.get).getOrElse(Nil))
    told.remove()
    val partitions =
      if (filters.matchNothing) Array.empty[InputPartition]
      else placed(narrowed(filters.onPartitions), dropsRows(filters))
    if (filters.isOnData) joined(partitions, filters) else partitions
  }

  private def runtimeFilters(predicates: Seq[Predicate]): RuntimeFilters =
    new RuntimeFilters(predicates, readDataSchema, fileIndex.partitionSchema, conf.resolver)

  private def narrowed(filters: Seq[Expression]): Array[InputPartition] = {
    val partitions =
      if (filters.isEmpty) super.planInputPartitions()
      else parquet.copy(partitionFilters = partitionFilters ++ filters).planInputPartitions()
    if (statistics.isDefined && readsFolders) packedAsV1(partitions) else partitions
  }

  private def readsFolders: Boolean = fileIndex.partitionSchema.nonEmpty

  /**
   * A V1 scan packs splits by their length over all partitions of a table, a V2 scan within each:
   * into more tasks, and with other rows in them, which `sample` and `rand` can tell.
   */
  private def packedAsV1(partitions: Array[InputPartition]): Array[InputPartition] = {
    val splits = partitions.toSeq.flatMap(JoinedPartition.filesOf(_).files)
    // A file has one first split in each partition that it is listed in.
    val bytes = splits.map(_.length).sum + splits.count(_.start == 0) * conf.filesOpenCostInBytes
    FilePartition.getFilePartitions(
      sparkSession,
      splits.sortBy(-_.length),
      FilePartition.maxSplitBytes(sparkSession, bytes)).toArray
  }

  private def joined(
      partitions: Array[InputPartition],
      filters: RuntimeFilters): Array[InputPartition] = {
    val planning = JoinedPartition.newPlanning()
    lastJoined = Some(JoinedConditions(planning, rowGroupFilters(filters), filters.rows))
    partitions.map(one => new JoinedPartition(JoinedPartition.filesOf(one), planning))
  }

  /** The partitions where their chunks are, if there is a choice, and as large as they should be. */
  private def placed(
      partitions: Array[InputPartition],
      dropsRows: Boolean): Array[InputPartition] = {
    val context = sparkSession.sparkContext
    val files = partitions.toSeq.collect { case files: FilePartition => files }
    val mayBeDivided = tableRules.isPlaced && pushedAggregate.isEmpty && files.nonEmpty
    CachedParquetScan.placementRules(conf) match {
      case Some(rules) if mayBeDivided && !context.isLocal =>
        PartitionPlan.of(
          context,
          conf,
          readDataSchema.fieldNames.toSeq,
          rules,
          taskBytes(files, dropsRows)).of(files)
      // Without a placement, hosts of blocks decide in a cluster, and what has the same stays alone.
      case _ if mayBeDivided && context.isLocal && dropsRows => larger(partitions, files)
      case _ => partitions
    }
  }

  private def larger(
      partitions: Array[InputPartition],
      files: Seq[FilePartition]): Array[InputPartition] = {
    val bytes = taskBytes(files, dropsRows = true)
    if (bytes > taskBytes(files, dropsRows = false))
      TaskSize.packed(files.flatMap(_.files), cost, bytes).zipWithIndex
        .map { case (some, index) => FilePartition(index, some.toArray) }
        .toArray[InputPartition]
    else partitions
  }

  private def cost(file: PartitionedFile): Long = file.length + conf.filesOpenCostInBytes

  private def taskBytes(files: Seq[FilePartition], dropsRows: Boolean): Long = TaskSize.bytes(
    sparkSession,
    conf,
    files.iterator.flatMap(_.files).map(cost).sum,
    readDataSchema.defaultSize.toDouble / dataSchema.defaultSize,
    dropsRows)

  /** Whether the scan drops rows without a join key. */
  private def dropsRows(filters: RuntimeFilters): Boolean =
    ParquetUtils.isBatchReadSupportedForSchema(conf, readSchema()) && filters.rows.nonEmpty

  override def createReaderFactory(): PartitionReaderFactory =
    super.createReaderFactory() match {
      case readers: ParquetPartitionReaderFactory if pushedAggregate.isEmpty =>
        new CachedParquetReaderFactory(readers, conditions, statistics.isDefined, tableRules)
      case readers => readers
    }

  override private[spark] def warmTasks(): Option[WarmTasks] =
    Option(createReaderFactory()).collect { case readers: CachedParquetReaderFactory => readers }
      .flatMap(_.warming).map { readers =>
        val files = HadoopFiles(hadoopConf, options.asCaseSensitiveMap.asScala.toMap)
        WarmTasks(planInputPartitions().toSeq, readers, Some(files))
      }

  override private[spark] def inFiles(columns: PinnedColumns): PinnedColumns = columns

  private def conditions: PlannedConditions =
    PlannedConditions.of(staticRowFilters, lastJoined, sparkSession.sparkContext)

  /** None where columns are found by their ids: Parquet's filters find them by their names. */
  private def rowGroupFilters(filters: RuntimeFilters): Array[Filter] =
    if (conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(readDataSchema)) Array.empty
    else filters.rowGroups

  private def staticRowFilters: Seq[RowFilter] =
    if (conf.parquetFilterPushDown) RowFilter.of(dataFilters) else Nil

  override def columnarSupportMode(): ColumnarSupportMode =
    // Known without listing files, which is what Spark would do to ask each partition.
    if (CachedParquetReaderFactory.readsColumnar(conf, readSchema())) ColumnarSupportMode.SUPPORTED
    else ColumnarSupportMode.UNSUPPORTED

  override def estimateStatistics(): Statistics = statistics match {
    case Some(v1) if pushedAggregate.isEmpty => v1.of(readSchema().fieldNames.toSet)
    case _ => super.estimateStatistics()
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.all

  private lazy val shares = new ScanShares(
    sparkSession.sparkContext,
    readDataSchema.fieldNames.toSeq,
    ScanShares.of(listed.flatMap(_.files.map(_.fileStatus))),
    conf.caseSensitiveAnalysis
  )

  /** The files to read as they are listed, by partition. */
  private[spark] def listed: Seq[PartitionDirectory] =
    shownFiles.listFiles(partitionFilters, dataFilters)

  /** The files of a plan that is only shown, which must not settle what it will read. */
  private def shownFiles = fileIndex match {
    case partitions: CatalogPartitions => partitions.shown
    case known => known
  }

  override def getMetaData(): Map[String, String] = {
    super.getMetaData() + ("Format" -> "parquet, column cache") ++
      shares.text.map("CachedShare" -> _) ++
      (if (staticRowFilters.isEmpty) None
       else Some("RowFilters" -> seqToString(staticRowFilters)))
  }

  override def equals(other: Any): Boolean = other match {
    case that: CachedParquetScan =>
      (this eq that) || super.equals(that) && hasPartitionsOf(that)
    case _ => false
  }

  /** Two Hive tables may have the same folders with other partition values. */
  private def hasPartitionsOf(that: CachedParquetScan): Boolean =
    (fileIndex eq that.fileIndex) || readPartitionSchema.isEmpty ||
      fileIndex.isInstanceOf[CatalogPartitions] ||
      fileIndex.asInstanceOf[PartitioningAwareFileIndex].partitionSpec() ==
      that.fileIndex.asInstanceOf[PartitioningAwareFileIndex].partitionSpec()

  override def hashCode(): Int = (fileIndex, readSchema()).hashCode
}

private[spark] object CachedParquetScan {

  /** How the session wants scans placed; nothing where Spark chooses. */
  private[spark] def placementRules(conf: SQLConf): Option[PlacementRules] =
    OapConfig.PLACEMENT.get(key => conf.getConfString(key, null)) match {
      case "off" => None
      case "hash" => Some(PlacementRules(usesResidency = false))
      case "residency" => Some(PlacementRules(usesHash = false))
      case _ => Some(PlacementRules())
    }

  /**
   * Gives one filter for all orders in which a condition can be written. Spark compares V2 scans by
   * it, to compute what is equal only once; V1 scans it compares by expressions, in whatever order.
   */
  def inOneOrder(filter: Filter): Filter = filter match {
    case _: Or => disjuncts(filter).map(inOneOrder).sortBy(_.toString).reduceLeft(Or(_, _))
    case _: And => conjuncts(filter).map(inOneOrder).sortBy(_.toString).reduceLeft(And(_, _))
    case Not(child) => Not(inOneOrder(child))
    case In(column, values) => In(column, values.sortBy(String.valueOf(_)))
    case other => other
  }

  /**
   * The data filters without those that are about partition columns, too: they are evaluated above
   * the scan only. In them Spark's comparison of V2 scans would see the columns of two reads of one
   * table as different ones, where that of V1 scans does not.
   */
  private def onDataOnly(scan: ParquetScan): Seq[Expression] = {
    val partitionColumns = scan.fileIndex.partitionSchema.fieldNames.toSet
    scan.dataFilters.filterNot(_.references.exists(column =>
      partitionColumns.contains(column.name)))
  }

  private def disjuncts(filter: Filter): Seq[Filter] = filter match {
    case Or(left, right) => disjuncts(left) ++ disjuncts(right)
    case other => Seq(other)
  }

  private def conjuncts(filter: Filter): Seq[Filter] = filter match {
    case And(left, right) => conjuncts(left) ++ conjuncts(right)
    case other => Seq(other)
  }

  /**
   * Whether values that join are also the same to Parquet's statistics. Strings of most collations
   * are not, nor are the two zeros of floating-point numbers.
   */
  def equalMeansSameBytes(dataType: DataType): Boolean = dataType match {
    case FloatType | DoubleType => false
    case other => UnsafeRowUtils.isBinaryStable(other)
  }
}
