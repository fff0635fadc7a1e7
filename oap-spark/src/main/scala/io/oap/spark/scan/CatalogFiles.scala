package io.oap.spark.scan

import java.net.URI
import java.util.concurrent.TimeUnit

import scala.collection.mutable

import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.metrics.source.HiveCatalogMetrics
import org.apache.spark.sql
import org.apache.spark.sql.catalyst.catalog.{CatalogTablePartition, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources
import org.apache.spark.sql.execution.datasources.{
  CatalogFileIndex,
  FileStatusCache,
  HadoopFsRelation,
  LogicalRelation,
  PartitionPath,
  PartitionSpec
}

import io.oap.spark.internals.CachedLists

/**
 * The files of a catalog table by partition, as Spark's own index gives them, and remembered from
 * query to query. Spark asks the catalog for partitions each time, which this does too; but it also
 * makes an index of all their files each time, some 30 µs for a partition, although the list of files
 * itself comes from a cache that lasts until the table is refreshed. The index that was made last
 * is given again where partitions are the same and that cache still has the lists it was made of.
 *
 * @param original the index of Spark's that it stands for
 * @param lists the lists of files that the original has cached
 */
private[spark] final class CatalogFiles private (
    session: SparkSession,
    private val original: CatalogFileIndex,
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
    val asked = Asked(lists, zone, filters.map(_.sql))
    val known = Option(indexes.getIfPresent(asked)).filter(_.isOf(partitions, lists))
    known.foreach(one => HiveCatalogMetrics.incrementFileCacheHits(one.fileCount))
    known.fold(index(asked, partitions, begun))(_.index)
  }

  private def index(
      asked: Asked,
      partitions: Seq[CatalogTablePartition],
      begun: Long): InMemoryFileIndex = {
    val qualified = new Qualified
    val paths = partitions.map(one =>
      PartitionPath(one.toRow(partitionSchema, asked.zone), qualified(new Path(one.location))))
    val before = listsOf(paths.map(_.path), lists)
    val made = new InMemoryFileIndex(
      session,
      PartitionSpec(partitionSchema, paths),
      lists,
      System.nanoTime() - begun)
    // Only lists that were there before and are there still are surely those it was made of.
    for (were <- before if made.rootPaths.size == paths.size) {
      val known = Known(partitions, were, made)
      if (known.isOf(partitions, lists)) indexes.put(asked, known)
    }
    made
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

  /** Of partitions and files together; each takes some hundred bytes. */
  private val MostPaths = 1L << 18

  /** Indexes hold on to their session. */
  private val Minutes = 10L

  /**
   * What an index was asked for. Answers are compared, so equal texts of different conditions do no
   * harm.
   */
  private final case class Asked(lists: FileStatusCache, zone: String, filters: Seq[String])

  /**
   * An index as Spark makes it, by whose name plans show it. Spark compares indexes by all their
   * paths, several times for each query, although it mostly has the same one in both hands.
   *
   * @param nanos how long the catalog took to answer
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
      case that: AnyRef => (this eq that) || super.equals(that)
      case _ => false
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

    def fileCount: Int = files.iterator.map(_.length).sum
  }

  // One segment: Guava divides the capacity among segments, and an index may need most of it.
  private val indexes: Cache[Asked, Known] = CacheBuilder
    .newBuilder()
    .concurrencyLevel(1)
    .softValues()
    .maximumWeight(MostPaths)
    .weigher[Asked, Known]((_, known) => known.files.size + known.fileCount)
    .expireAfterAccess(Minutes, TimeUnit.MINUTES)
    .build()

  private def listsOf(
      paths: Seq[Path],
      lists: FileStatusCache): Option[Seq[Array[FileStatus]]] = {
    val found = paths.iterator.map(lists.getLeafFiles).takeWhile(_.isDefined).flatten.toVector
    Option.when(found.size == paths.size)(found)
  }

  private def areSame(one: CatalogTablePartition, other: CatalogTablePartition): Boolean =
    (one eq other) || one.spec == other.spec && placeOf(one) == placeOf(other)

  private def placeOf(partition: CatalogTablePartition): Option[URI] = partition.storage.locationUri

  /** Returns an index that remembers, for one of Spark's; that itself where it does not tell enough. */
  def of(session: sql.SparkSession, index: CatalogFileIndex): CatalogFileIndex =
    (session, index) match {
      case (_, known: CatalogFiles) => known
      case (classic: SparkSession, _) if index.partitionSchema.nonEmpty =>
        CachedLists.of(index).fold(index)(new CatalogFiles(classic, index, _))
      case _ => index
    }

  /** Runs a rule on a plan whose catalog tables remember their files meanwhile. */
  def during(plan: LogicalPlan)(rule: LogicalPlan => LogicalPlan): LogicalPlan = {
    val marked = files(plan) { files =>
      files.location match {
        case index: CatalogFileIndex =>
          val other = of(files.sparkSession, index)
          files.copy(location = other, options = files.options + Mark)(files.sparkSession)
        case _ => files
      }
    }
    files(rule(marked)) { files =>
      val location = files.location match {
        case known: CatalogFiles => known.original
        case settled => settled
      }
      files.copy(location = location, options = files.options - Mark._1)(files.sparkSession)
    }
  }

  // Indexes of one table are equal to Spark, and it keeps a relation that only becomes an equal one.
  private val Mark = "io.oap.remembers" -> "files"

  private def files(plan: LogicalPlan)(other: HadoopFsRelation => HadoopFsRelation): LogicalPlan =
    plan.transform {
      case relation @ LogicalRelation(files: HadoopFsRelation, _, _, _, _) =>
        relation.copy(relation = other(files))
    }
}
