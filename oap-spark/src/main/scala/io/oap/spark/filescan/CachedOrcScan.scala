package io.oap.spark.filescan

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.Scan.ColumnarSupportMode
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReader
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcPartitionReaderFactory, OrcScan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.SupportsMetadata
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.orc.OrcLayout
import io.oap.cache.stats.CacheCounters
import io.oap.common.FileIdentity
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.read.{CachedParquetReaderFactory, JoinedPartition, MeteredReader, ScanMetrics}
import io.oap.spark.scan.{CachedParquetScan, CachedScan, PartitionPlan, ScanShares, TaskSize}
import io.oap.spark.table.{CachedFormats, ScanCachePolicy, TableSelector, TablesRead}

/**
 * A scan of ORC files by Spark's V2 reader, whose bytes come from the cache. It stands in physical
 * plans only, where push-down is settled.
 *
 * @param orc Spark's own scan, which reads all else
 * @param policy what users want of the files' chunks in the pools
 */
private[spark] final class CachedOrcScan(
    orc: OrcScan,
    session: SparkSession,
    conf: SQLConf,
    policy: ScanCachePolicy)
    extends CachedScan
    with SupportsMetadata {

  override def readSchema(): StructType = orc.readSchema()

  override def description(): String = s"${orc.description()} (column cache)"

  override def supportedCustomMetrics(): Array[CustomMetric] = ScanMetrics.all

  private lazy val readers: PartitionReaderFactory = {
    val schemes = CachedFormat.schemes(orc.fileIndex.rootPaths, orc.hadoopConf)
    val caching = CachingFileSystem.caching(orc.hadoopConf, schemes.asJava)
    orc.copy(hadoopConf = caching).createReaderFactory() match {
      case spark: OrcPartitionReaderFactory => new CachedOrcReaderFactory(spark, policy)
      case other => other
    }
  }

  /** Known without listing files, which is what Spark would do to ask each partition. */
  override def columnarSupportMode(): ColumnarSupportMode =
    if (readers.supportColumnarReads(FilePartition(0, Array.empty))) ColumnarSupportMode.SUPPORTED
    else ColumnarSupportMode.UNSUPPORTED

  private lazy val shares = new ScanShares(
    session.sparkContext,
    orc.readDataSchema.fieldNames.toSeq,
    orc.fileIndex.listFiles(orc.partitionFilters, orc.dataFilters).flatMap(_.files).map { file =>
      val key =
        FileIdentity.placementKey(file.getPath.toString, file.getLen, file.getModificationTime)
      key -> file.getLen
    },
    conf.caseSensitiveAnalysis
  )

  override def getMetaData(): Map[String, String] =
    orc.getMetaData() + ("Format" -> "orc, column cache") ++ shares.text.map("CachedShare" -> _)

  override def toBatch: Batch = new CachedOrcBatch(orc, () => placed, () => readers)

  /** The partitions where their chunks are, in a cluster. */
  private def placed: Array[InputPartition] = {
    val partitions = orc.toBatch.planInputPartitions()
    CachedParquetScan.placementRules(conf) match {
      case Some(rules) if policy.isPlaced && !session.sparkContext.isLocal =>
        val files = partitions.toSeq.map(JoinedPartition.filesOf)
        val bytes = files.flatMap(_.files).map(_.length + conf.filesOpenCostInBytes).sum
        PartitionPlan.of(
          session.sparkContext,
          conf,
          orc.readDataSchema.fieldNames.toSeq,
          rules,
          TaskSize.bytes(session, conf, bytes, readShare = 1, dropsRows = false)).of(files)
      case _ => partitions
    }
  }
}

private[spark] object CachedOrcScan {

  /** The scan that stands for one of ORC files, where the session wants these cached. */
  def of(scan: Scan, session: SparkSession, conf: SQLConf): Option[CachedOrcScan] = scan match {
    case orc: OrcScan if orc.pushedAggregate.isEmpty =>
      val paths = orc.fileIndex.rootPaths
      val options = orc.options.asScala.toMap
      val selector = TableSelector.of(conf)
      if (!CachedFormats.isServed(conf, CachedFormats.Orc) ||
        !selector.isCached(None, paths, options)) None
      else {
        TablesRead.isRead(None, orc.fileIndex, isWhole = false)
        val policy = ScanCachePolicy.of(
          session.sparkContext,
          None,
          paths,
          options,
          selector,
          isPlaced = true)(identity)
        Some(new CachedOrcScan(orc, session, conf, policy))
      }
    case _ => None
  }
}

/** Equal to those whose ORC scans are: Spark computes an equal exchange once. */
private final class CachedOrcBatch(
    private val orc: OrcScan,
    partitions: () => Array[InputPartition],
    readers: () => PartitionReaderFactory)
    extends Batch {
  override def planInputPartitions(): Array[InputPartition] = partitions()

  override def createReaderFactory(): PartitionReaderFactory = readers()

  override def equals(other: Any): Boolean = other match {
    case that: CachedOrcBatch => orc == that.orc
    case _ => false
  }

  override def hashCode(): Int = orc.hashCode
}

/**
 * Has Spark's readers of ORC files get their bytes from the cache, on executors.
 *
 * @param spark makes them; its configuration is one of [[CachingFileSystem]]
 */
private final class CachedOrcReaderFactory(
    spark: OrcPartitionReaderFactory,
    policy: ScanCachePolicy)
    extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    spark.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    reader(partition, spark.buildReader)

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    reader(partition, spark.buildColumnarReader)

  private def reader[T](
      partition: InputPartition,
      build: PartitionedFile => PartitionReader[T]): PartitionReader[T] = {
    val counters = new CacheCounters
    val open = ExecutorCache.get().fold(build) { cache =>
      cache.limit(policy.limits.asJava)
      val context = CachedParquetReaderFactory.context(cache, partition, policy, counters)
      file =>
        new FileRead(file.toPath, OrcLayout.READER, cache, context)
          .whileOpening(() => build(file))
    }
    val files = JoinedPartition.filesOf(partition).files
    new MeteredReader(
      new FilePartitionReader[T](files.iterator, open, spark.options),
      None,
      counters)
  }
}
