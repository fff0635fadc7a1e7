package io.oap.spark.iceberg

import org.apache.spark.sql.catalyst.analysis.caseSensitiveResolution
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.connector.expressions.NamedReference
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.StructType

import io.oap.spark.optimizer.JoinKeys
import io.oap.spark.placement.PlacementRules
import io.oap.spark.read.{JoinedConditions, JoinedPartition, ScanMetrics, WarmTasks}
import io.oap.spark.scan.{CachedScan, GroupPlaces, RuntimeFilters, ScanShares}
import io.oap.spark.table.{PinnedColumns, ScanCachePolicy}

/**
 * A scan of Iceberg whose tasks take column chunks from the cache. Whatever Spark asks of it Iceberg
 * answers: files, splits, runtime filters, deletes.
 *
 * It stands in physical plans only, where push-down and the layout of joins are settled. What Spark
 * has asked of Iceberg's scan to make the plan is not asked again: Iceberg sends the table to all
 * executors each time that partitions are planned, and an adaptive plan is made several times.
 *
 * @param iceberg Iceberg's own scan; Spark's write of the same query may hold it, too
 * @param planned the node of Iceberg's own scan, which this stands for
 * @param keepsLoaded whether chunks that are not held may enter the pool
 * @param filters what the plan above goes on to ask of the rows; nothing where Iceberg's own readers
 *     have to give them
 * @param placement how its partitions are placed; nothing where Iceberg chooses
 */
private[iceberg] final class CachedIcebergScan(
    iceberg: Scan with SupportsRuntimeV2Filtering,
    planned: BatchScanExec,
    shape: PartitionShape,
    tableRules: ScanCachePolicy,
    keepsLoaded: Boolean,
    filters: Option[ScanFilters],
    placement: Option[PlacementRules],
    isCaseSensitive: Boolean)
    extends CachedScan
    with SupportsRuntimeV2Filtering
    with SupportsMetadata {

  // Since then it has fewer partitions than the plan was made with.
  @volatile private var isFiltered = false

  // Spark tells them right before it plans the partitions that they filter, on the same thread.
  private val told = new ThreadLocal[Seq[Predicate]]

  // Of the last planning with join keys, and its number.
  @volatile private var lastJoined: Option[JoinedConditions] = None

  override def readSchema(): StructType = iceberg.readSchema()

  override def description(): String = s"${iceberg.description()} (column cache)"

  // By all partitions: those that a runtime filter leaves may be of another mind.
  override def columnarSupportMode(): ColumnarSupportMode =
    if (planned.supportsColumnar) ColumnarSupportMode.SUPPORTED else ColumnarSupportMode.UNSUPPORTED

  override def filterAttributes(): Array[NamedReference] = iceberg.filterAttributes()

  /** Gives Iceberg what is on columns that it offers; all else are join keys for our own readers. */
  override def filter(predicates: Array[Predicate]): Unit = {
    val (known, keys) =
      predicates.partition(_.references.forall(column => isOfIceberg(column.fieldNames)))
    if (known.nonEmpty) {
      isFiltered = true
      iceberg.filter(known)
    }
    told.set(keys.toSeq)
  }

  private def isOfIceberg(column: Array[String]): Boolean =
    iceberg.filterAttributes().exists(_.fieldNames.sameElements(column))

  /**
   * Whether join keys on a column, so many of them, are of use to [[filter]] beside what Iceberg
   * offers. None for what a change reads, which has columns of Iceberg's own, nor where partitions
   * are laid out for a join.
   */
  def takesKeys(column: Attribute, keys: BigInt): Boolean =
    keepsLoaded && planned.keyGroupedPartitioning.isEmpty && FlatReads.arePossible(readSchema()) &&
      readSchema().fieldNames.toSet.subsetOf(planned.table.columns.map(_.name).toSet) &&
      !isOfIceberg(Array(column.name)) && JoinKeys.areFew(keys, expectedRows)

  private lazy val expectedRows: BigInt =
    planned.inputPartitions.map(one => BigInt(shape.taskGroup(one).estimatedRowsCount)).sum

  /**
   * What decides about its rows; nothing where that cannot be told, or it is read for a change. Nor
   * where Spark has given it a filter, which may be of any join of the query. Join keys of ours do
   * not count: they leave out what a join of the same stage leaves out, too.
   */
  private[iceberg] lazy val rows: Option[IcebergRows] =
    if (keepsLoaded && planned.runtimeFilters.isEmpty) IcebergRows.of(planned, shape) else None

  override def supportedCustomMetrics(): Array[CustomMetric] =
    iceberg.supportedCustomMetrics() ++ ScanMetrics.all

  override def reportDriverMetrics(): Array[CustomTaskMetric] = iceberg.reportDriverMetrics()

  override def toBatch(): Batch = new CachedIcebergBatch(iceberg.toBatch, this)

  private def context = planned.session.sparkContext

  private lazy val inFiles = IcebergFiles.names(planned.table)

  // Asked for when a plan is shown, and again and again while it runs.
  private lazy val shares = new ScanShares(
    context,
    readSchema().fieldNames.toSeq,
    ServedFiles.lengths(shape.taskGroups(iceberg)),
    isCaseSensitive,
    inFiles(_))

  override def getMetaData(): Map[String, String] =
    Map("Format" -> "iceberg, column cache", "Scan" -> iceberg.description()) ++
      shares.text.map("CachedShare" -> _) ++
      filters.map(_.rows).filter(_.nonEmpty).map("RowFilters" -> _.mkString("[", ", ", "]"))

  private[iceberg] def partitions(now: Batch): Array[InputPartition] = {
    val keys = new RuntimeFilters(
      Option(told.get).getOrElse(Nil),
      readSchema(),
      new StructType,
      caseSensitiveResolution)
    told.remove()
    if (keys.matchNothing) Array.empty
    else
      cached(
        if (isFiltered) now.planInputPartitions() else planned.inputPartitions.toArray,
        if (keys.isOnData) joined(keys) else 0)
  }

  private def joined(keys: RuntimeFilters): Long = {
    val planning = JoinedPartition.newPlanning()
    lastJoined = Some(JoinedConditions(planning, keys.rowGroups, keys.rows))
    planning
  }

  private def cached(
      partitions: Array[InputPartition],
      planning: Long): Array[InputPartition] = {
    val groups = partitions.map(one => ServedFiles.splits(shape.taskGroup(one)))
    val places = placement.map(
      GroupPlaces.of(
        context,
        _,
        readSchema().fieldNames.toSeq.flatMap(inFiles).distinct,
        isCaseSensitive,
        groups.toIndexedSeq.view.map(_.map(ServedFiles.partOf)),
        partitions(_).preferredLocations()
      ))
    partitions.zip(groups).zipWithIndex.map {
      case ((one: InputPartition with HasPartitionKey, splits), index) if splits.nonEmpty =>
        new CachedIcebergPartition(one, places.orNull, index, planning)
      case ((other, _), _) => other
    }
  }

  /** Nothing where none of its files are for the cache, but it has some. */
  override private[spark] def warmTasks(): Option[WarmTasks] = {
    val all = toBatch().planInputPartitions().toSeq
    val some = all.filter(_.isInstanceOf[CachedIcebergPartition])
    if (some.isEmpty && all.nonEmpty) None
    else Some(WarmTasks(some, new WarmIcebergReaders(readers(), _), hadoop = None, filesOf))
  }

  private def filesOf(partition: InputPartition): Seq[String] =
    ServedFiles.splits(shape.taskGroup(CachedIcebergPartition.original(partition)))
      .map(_.file.location)

  override private[spark] def inFiles(columns: PinnedColumns): PinnedColumns =
    IcebergFiles.inFiles(planned.table, columns)

  private[iceberg] def readers(): CachedIcebergReaderFactory =
    new CachedIcebergReaderFactory(
      planned.batch.createReaderFactory(),
      // What a change rewrites is read with columns of Iceberg's own, and by Iceberg.
      filters.filter(_ => keepsLoaded)
        .flatMap(FlatReads.of(planned.session, readSchema(), _, lastJoined)),
      FileVersions.of(planned.table),
      tableRules,
      keepsLoaded
    )
}

/** Equal to those whose Iceberg scans are: Spark computes an equal exchange once. */
private final class CachedIcebergBatch(private val iceberg: Batch, scan: CachedIcebergScan)
    extends Batch {
  override def planInputPartitions(): Array[InputPartition] = scan.partitions(iceberg)

  override def createReaderFactory(): PartitionReaderFactory = scan.readers()

  override def equals(other: Any): Boolean = other match {
    case that: CachedIcebergBatch => iceberg == that.iceberg
    case _ => false
  }

  override def hashCode(): Int = iceberg.hashCode
}
