package io.oap.spark.iceberg

import java.util.concurrent.atomic.AtomicBoolean

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.read.{Scan, SupportsRuntimeV2Filtering}
import org.apache.spark.sql.execution.{ColumnarRule, FilterExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}

import io.oap.spark.cluster.Cluster
import io.oap.spark.internals.SparkInternals
import io.oap.spark.scan.{CachedParquetScan, PlacedStages}
import io.oap.spark.table.{CachedFormats, ScanCachePolicy, TableSelector, TablesRead}

/**
 * Has the scans of Iceberg tables read through the cache: those that a plan's conditions,
 * storage-partitioned joins and runtime filters have been settled with. Iceberg is found by the
 * names of its classes, so that none of them need be there.
 *
 * Left alone are metadata tables, changelogs, streams, what a compaction reads (files that are gone
 * when it ends), aggregates that Iceberg answers from manifests, and all where the session's Parquet
 * files may be encrypted by keys that only Iceberg's own way to the files knows.
 */
private[spark] object CacheIcebergScans extends Rule[SparkPlan] with Logging {

  /**
   * As what a session takes it for plans that are not adaptive. Those that are have it among the
   * rules that prepare their stages, so that a plan that is only shown has it, too.
   */
  object Columnar extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = CacheIcebergScans
  }

  private val Package = "org.apache.iceberg.spark.source."

  /** Scans that read data files to answer a query. */
  private val OfQueries = Set("SparkBatchQueryScan", "SparkIncrementalAppendScan").map(Package + _)

  /** The scan of files that are written anew without the rows that leave. */
  private val OfRewrites = Package + "SparkCopyOnWriteScan"

  private val hasWarned = new AtomicBoolean

  override def apply(plan: SparkPlan): SparkPlan =
    if (!CachedFormats.isServed(conf, CachedFormats.Iceberg)) plan
    else
      plan.transformUp {
        case batch: BatchScanExec if isServed(batch.scan) && !mayBeEncrypted(batch) =>
          cached(batch, plan).fold(batch)(scan => batch.copy(scan = scan))
      }

  private def isServed(scan: Scan): Boolean =
    scan != null && (OfQueries(scan.getClass.getName) || scan.getClass.getName == OfRewrites)

  /** Parquet's own encryption takes its keys by the configuration of Hadoop's file system. */
  private def mayBeEncrypted(batch: BatchScanExec): Boolean = {
    val key = "parquet.crypto.factory.class"
    conf.getAllConfs.keysIterator.exists(_.endsWith(key)) ||
    batch.session.sparkContext.hadoopConfiguration.get(key) != null
  }

  private def cached(batch: BatchScanExec, plan: SparkPlan): Option[CachedIcebergScan] = {
    // That of a change says nothing of properties.
    val table = SparkInternals.changed(batch.table)
    val location = IcebergTables.location(table)
    val known = IcebergTables.catalogTable(table)
    val options = readerOptions(batch)
    val selector = TableSelector.of(conf)
    if (!selector.isCached(known, location.toSeq, options)) None
    else
      batch.scan match {
        case scan: SupportsRuntimeV2Filtering =>
          orAsItIs {
            val context = batch.session.sparkContext
            val isPlaced = !context.isLocal && PlacedStages.mayBeIn(plan)
            if (IcebergTables.isOfMetadata(table)) None
            else {
              val folders = IcebergTables.folders(table)
              folders.foreach(TablesRead.isRead(table.name, _))
              val said =
                ScanCachePolicy.of(context, known, folders, options, selector, isPlaced)(identity)
              Cluster.of(context).followedTables.onFound(
                batch.session,
                FollowedIcebergTable.of(table, said.pinned))
              Some(new CachedIcebergScan(
                scan,
                batch,
                PartitionShape.of(scan.getClass.getClassLoader),
                said.copy(pinned = said.pinned.map(IcebergFiles.inFiles(table, _))),
                keepsLoaded = scan.getClass.getName != OfRewrites,
                filtersAbove(batch, plan),
                if (isPlaced) CachedParquetScan.placementRules(conf) else None,
                conf.caseSensitiveAnalysis
              ))
            }
          }
        case _ => None
      }
  }

  /**
   * What the filter right above a scan says of its rows. None where it counts the rows that it is
   * asked for.
   */
  private def filtersAbove(batch: BatchScanExec, plan: SparkPlan): Option[ScanFilters] =
    plan.collectFirst { case FilterExec(condition, scan) if scan eq batch => condition } match {
      case Some(condition) if ScanFilters.areCounting(condition) => None
      case Some(condition) if conf.parquetFilterPushDown =>
        Some(ScanFilters.of(condition, batch.output, batch.scan.readSchema))
      case _ => Some(ScanFilters.Empty)
    }

  /** Fails open: another version of Iceberg may have other classes. */
  private def orAsItIs(scan: => Option[CachedIcebergScan]): Option[CachedIcebergScan] =
    try scan
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        if (hasWarned.compareAndSet(false, true))
          logWarning(s"Iceberg tables are read around the column cache: $e")
        logDebug("Why a scan of an Iceberg table is left as it is", e)
        None
    }

  private def readerOptions(batch: BatchScanExec): Map[String, String] =
    batch.logicalLink.flatMap(_.collectFirst {
      case relation: DataSourceV2ScanRelation if relation.scan eq batch.scan =>
        relation.relation.options.asScala.toMap
    }).getOrElse(Map.empty)
}
