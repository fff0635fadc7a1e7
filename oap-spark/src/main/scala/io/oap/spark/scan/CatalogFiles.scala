package io.oap.spark.scan

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.SparkContext
import org.apache.spark.metrics.source.HiveCatalogMetrics
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.catalog.{CatalogTablePartition, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileStatusCache,
  NoopCache,
  PartitionPath,
  PartitionSpec
}
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.internals.{CachedLists, PerSparkContext}

/**
 * The files of a catalog table by partition, as Spark's own index gives them, and remembered from
 * query to query. Spark asks the catalog for partitions each time, which this does too; but it also
 * makes an index of all their files each time, although the lists of files themselves come from a
 * cache that lasts until the table is refreshed. The index that was made last is given again where
 * partitions are the same and that cache still has the lists it was made of. Thread-safe.
 *
 * @param original the index of Spark's that it stands for
 * @param lists the lists of files that the original has cached
 */
private[spark] final class CatalogFiles private (
    session: SparkSession,
    original: CatalogFileIndex,
    lists: FileStatusCache)
    extends CatalogFileIndex(session, original.table, original.sizeInBytes) {
  import CatalogFiles._

  override def refresh(): Unit = original.refresh()

  override def filterPartitions(filters: Seq[Expression]): datasources.InMemoryFileIndex = {
    val begun = System.nanoTime()
    val state = session.sessionState
    val partitions =
      ExternalCatalogUtils.listPartitionsByFilter(state.conf, state.catalog, table, filters)
    val zone = state.conf.sessionLocalTimeZone
    val asked = Asked(lists, zone, SQLConf.get.ansiEnabled, filters.map(text))
    val indexes = all.of(session.sparkContext)
    val known = Option(indexes.getIfPresent(asked)).filter(_.isOf(partitions, lists))
    known.foreach(one => HiveCatalogMetrics.incrementFileCacheHits(one.fileCount))
    known.fold(index(asked, partitions, begun)(indexes.put(asked, _)))(_.index)
  }

  /** Makes an index, and remembers it where it is known which lists it was made of. */
  private def index(asked: Asked, partitions: Seq[CatalogTablePartition], begun: Long)(
      remember: Known => Unit): InMemoryFileIndex = {
    val qualified = new Qualified
    val paths = partitions.map(one =>
      PartitionPath(one.toRow(partitionSchema, asked.zone), qualified(new Path(one.location))))
    val before = listsOf(paths.map(_.path))
    val made = new InMemoryFileIndex(
      session,
      PartitionSpec(partitionSchema, paths),
      lists,
      System.nanoTime() - begun)
    // Only lists that were there before and are there still are surely those it was made of.
    for (were <- before if paths.size >= FewestPartitions && made.rootPaths.size == paths.size) {
      val known = Known(partitions, were, made)
      if (known.isOf(partitions, lists)) remember(known)
    }
    made
  }

  private def listsOf(paths: Seq[Path]): Option[Seq[Array[FileStatus]]] = {
    val found = paths.iterator.map(lists.getLeafFiles).takeWhile(_.isDefined).flatten.toVector
    Option.when(found.size == paths.size)(found)
  }

  /** Paths with the scheme and the folder of their file system, which each is asked for once. */
  private final class Qualified extends (Path => Path) {
    private val systems = mutable.Map.empty[(String, String), FileSystem]

    override def apply(path: Path): Path = {
      val uri = path.toUri
      val system = systems.getOrElseUpdate(
        (uri.getScheme, uri.getAuthority),
        path.getFileSystem(hadoopConf))
      path.makeQualified(system.getUri, system.getWorkingDirectory)
    }
  }
}

private[spark] object CatalogFiles {

  /** An index of fewer is made quickly, so it is not remembered. */
  private[scan] val FewestPartitions = 32

  /** Of partitions and files together; each takes some hundred bytes. */
  private val MostPaths = 1L << 18

  /** What an index holds besides, as if it were paths: a configuration of Hadoop's. */
  private val IndexWeight = 512

  /** How long an index stays without use, since it holds its session. */
  private val Minutes = 10L

  /**
   * What an index was asked for. Answers are compared, so equal texts of different conditions do no
   * harm.
   *
   * @param zone by which a partition's text becomes a time
   * @param isAnsi whether a text that is no value of its column is an error
   */
  private final case class Asked(
      lists: FileStatusCache,
      zone: String,
      isAnsi: Boolean,
      filters: Seq[String])

  /**
   * An index as Spark makes it, by whose name plans show it. Spark compares indexes by all their
   * paths, several times for each query, although it mostly has the same one in both hands.
   *
   * @param nanos how long it took to know the partitions, when the index was made
   */
  private final class InMemoryFileIndex(
      session: SparkSession,
      partitions: PartitionSpec,
      lists: FileStatusCache,
      nanos: Long)
      extends datasources.InMemoryFileIndex(
        session,
        partitions.partitions.map(_.path),
        Map.empty,
        Some(partitions.partitionColumns),
        lists,
        Some(partitions),
        Some(nanos)) {
    private lazy val hash = super.hashCode()

    override def equals(other: Any): Boolean = other match {
      case same: AnyRef if same eq this => true
      case _ => super.equals(other)
    }

    override def hashCode(): Int = hash
  }

  /**
   * An index that was made.
   *
   * @param files the files of each partition, as Spark's cache gave them
   */
  private final case class Known(
      partitions: Seq[CatalogTablePartition],
      files: Seq[Array[FileStatus]],
      index: InMemoryFileIndex) {

    /** Whether an index of these partitions would be made of the same lists of files. */
    def isOf(now: Seq[CatalogTablePartition], lists: FileStatusCache): Boolean =
      partitions.corresponds(now)(areSame) && index.rootPaths.corresponds(files)((path, were) =>
        lists.getLeafFiles(path).exists(_ eq were))

    val fileCount: Int = files.iterator.map(_.length).sum
  }

  /** Whether they have the same values: those may depend on properties, such as a time zone. */
  private def areSame(one: CatalogTablePartition, other: CatalogTablePartition): Boolean =
    (one eq other) || one.spec == other.spec && one.storage == other.storage

  private type Indexes = Cache[Asked, Known]

  private val all = new PerSparkContext[Indexes](begin)

  private def begin(context: SparkContext): Indexes = {
    // One segment: Guava divides the capacity among segments, and an index may need most of it.
    val indexes: Indexes = CacheBuilder
      .newBuilder()
      .concurrencyLevel(1)
      .softValues()
      .maximumWeight(MostPaths)
      .weigher[Asked, Known]((_, known) => IndexWeight + known.files.size + known.fileCount)
      .expireAfterAccess(Minutes, TimeUnit.MINUTES)
      .build()
    PerSparkContext.listen(context)(new SparkListener {
      override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit =
        indexes.invalidateAll()
    })
    indexes
  }

  /** A condition without what differs from query to query. */
  private def text(filter: Expression): String = filter.transform {
    case column: AttributeReference => column.withQualifier(Nil)
  }.sql

  /**
   * Returns an index that remembers, for one of Spark's. Returns that itself where its lists of files
   * are not readable or not cached, and where it is of a subclass, which may list other files.
   */
  def of(session: sql.SparkSession, index: CatalogFileIndex): CatalogFileIndex =
    (session, CachedLists.of(index)) match {
      case (classic: SparkSession, Some(lists))
          if index.getClass == classOf[CatalogFileIndex] && index.partitionSchema.nonEmpty &&
            (lists ne NoopCache) =>
        new CatalogFiles(classic, index, lists)
      case _ => index
    }
}
