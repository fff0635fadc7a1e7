package io.oap.spark.filescan

import scala.jdk.CollectionConverters._
import scala.util.Using

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

import io.oap.cache.{ColumnCache, ReadContext, WarmedChunks}
import io.oap.cache.orc.OrcLayout
import io.oap.cache.stats.CacheCounters
import io.oap.common.FileIdentity
import io.oap.spark.cluster.Cluster
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.read._
import io.oap.spark.scan.{CachedParquetScan, CachedScan, FilePart, GroupPlaces, Place, ScanShares}
import io.oap.spark.table._

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

  private lazy val readers: CachedOrcReaderFactory = {
    val schemes = CachedFormat.schemes(orc.fileIndex.rootPaths, orc.hadoopConf)
    val caching = CachingFileSystem.caching(orc.hadoopConf, schemes.asJava)
    val spark = orc.copy(hadoopConf = caching).createReaderFactory()
    new CachedOrcReaderFactory(spark.asInstanceOf[OrcPartitionReaderFactory], policy)
  }

  /** Known without listing files, which is what Spark would do to ask each partition. */
  override def columnarSupportMode(): ColumnarSupportMode =
    if (readers.supportColumnarReads(FilePartition(0, Array.empty))) ColumnarSupportMode.SUPPORTED
    else ColumnarSupportMode.UNSUPPORTED

  private lazy val shares = new ScanShares(
    session.sparkContext,
    orc.readDataSchema.fieldNames.toSeq,
    ScanShares.of(
      orc.fileIndex.listFiles(orc.partitionFilters, orc.dataFilters)
        .flatMap(_.files.map(_.fileStatus))),
    conf.caseSensitiveAnalysis
  )

  override def getMetaData(): Map[String, String] =
    orc.getMetaData() + ("Format" -> "orc, column cache") ++ shares.text.map("CachedShare" -> _)

  override private[spark] def warmTasks(): Option[WarmTasks] = {
    val files = HadoopFiles(orc.hadoopConf, orc.options.asScala.toMap)
    Some(WarmTasks(placed.toSeq, new WarmOrcReaders(readers, _), Some(files)))
  }

  override private[spark] def inFiles(columns: PinnedColumns): PinnedColumns = columns

  override def toBatch: Batch = new CachedOrcBatch(orc, () => placed, () => readers)

  /**
   * Spark's partitions, which know in a cluster where their chunks are. They stay as they are: above
   * a scan may stand what counts on which rows a task has, and Spark plans it again for each action.
   */
  private def placed: Array[InputPartition] = {
    val partitions = orc.toBatch.planInputPartitions()
    CachedParquetScan.placementRules(conf) match {
      case Some(rules) if policy.isPlaced && !session.sparkContext.isLocal =>
        val files = partitions.toIndexedSeq.map(JoinedPartition.filesOf)
        val places = GroupPlaces.of(
          session.sparkContext,
          rules,
          orc.readDataSchema.fieldNames.toSeq,
          conf.caseSensitiveAnalysis,
          files.view.map(_.files.toSeq.map(partOf)),
          files(_).preferredLocations()
        )
        files.indices.map(i => at(places, places(i), files(i))).toArray[InputPartition]
      case _ => partitions
    }
  }

  private def partOf(split: PartitionedFile): FilePart = FilePart(
    FileIdentity.placementKey(split.toPath.toString, split.fileSize, split.modificationTime),
    split.start,
    split.length)

  private def at(places: GroupPlaces, place: Place, files: FilePartition): PlacedPartition =
    new PlacedPartition(
      files.index,
      files.files,
      place.executors.toArray,
      place.alternatives.toArray,
      place.isGuest,
      place.isCold,
      () => places.locations(place).toSeq)
}

private[spark] object CachedOrcScan {

  /**
   * The scan that stands for one of ORC files, where the session wants these cached.
   *
   * @param isPlaced whether its tasks may be told where to run
   */
  def of(
      scan: Scan,
      session: SparkSession,
      conf: SQLConf,
      isPlaced: Boolean): Option[CachedOrcScan] = scan match {
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
          isPlaced)(identity)
        if (policy.pinned.isDefined)
          Cluster.of(session.sparkContext).removedFiles.pinnedIsRead(session, paths)
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
    val open = ExecutorCache.get().fold(build)(cache =>
      cached(cache, context(cache, partition, counters), build))
    new MeteredReader(files(partition, open), None, counters)
  }

  /** Reads a partition to the end for nobody, so that its chunks are held here. */
  def warm(partition: InputPartition, cache: ColumnCache): Warmed = {
    val counters = new CacheCounters
    val chunks = new WarmedChunks
    val warming = context(cache, partition, counters).warming(chunks)
    def all[T](build: PartitionedFile => PartitionReader[T]): Unit =
      Using.resource(files(partition, cached(cache, warming, build))) { reader =>
        while (reader.next()) WarmReaderFactory.throwIfCancelled()
      }
    if (supportColumnarReads(partition)) all(spark.buildColumnarReader)
    else all(spark.buildReader)
    Warmed.here(chunks, counters)
  }

  private def context(
      cache: ColumnCache,
      partition: InputPartition,
      counters: CacheCounters): ReadContext = {
    cache.limit(policy.limits.asJava)
    CachedParquetReaderFactory.context(cache, partition, policy, counters)
  }

  private def cached[T](
      cache: ColumnCache,
      context: ReadContext,
      build: PartitionedFile => PartitionReader[T]): PartitionedFile => PartitionReader[T] =
    file =>
      FileBlame.sparingReader(FileBlame.sparing(
        new FileRead(file.toPath, OrcLayout.READER, cache, context)
          .whileOpening(() => build(file))))

  private def files[T](
      partition: InputPartition,
      open: PartitionedFile => PartitionReader[T]): PartitionReader[T] =
    new FilePartitionReader[T](
      JoinedPartition.filesOf(partition).files.iterator,
      open,
      spark.options)
}

/** Makes readers that load what others give rows of. */
private final class WarmOrcReaders(readers: CachedOrcReaderFactory, isPatient: Boolean)
    extends WarmReaderFactory(isPatient) {
  override protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow] =
    new OneRow(() => readers.warm(partition, cache).toRow)
}
