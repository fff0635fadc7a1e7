package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory

import io.oap.cache.{ChunkRequest, ColumnCache, WarmedChunks}
import io.oap.cache.parquet.CachedParquetFile.RowGroup
import io.oap.cache.stats.CacheCounters
import io.oap.common.ChunkKey
import io.oap.spark.table.ScanCachePolicy
import io.oap.spark.vector.FlatColumn

/**
 * Loads what a scan of Parquet files would read, by the footers: row groups that the scan's filters
 * rule out by their statistics are left out, and nothing is decoded.
 */
private[spark] final class WarmParquetReaders(
    parquet: ParquetPartitionReaderFactory,
    conditions: ScanConditions,
    settings: ReadSettings,
    tableRules: ScanCachePolicy,
    isPatient: Boolean)
    extends WarmReaderFactory(isPatient) {

  override protected def reader(
      partition: InputPartition,
      cache: ColumnCache): PartitionReader[InternalRow] = {
    cache.limit(tableRules.limits.asJava)
    new FilePartitionReader[InternalRow](
      partition.asInstanceOf[FilePartition].files.iterator,
      file => new OneRow(() => new FileWarming(file, partition, cache).run().toRow),
      parquet.options)
  }

  /** The part of one file that a task is to warm. */
  private final class FileWarming(
      file: PartitionedFile,
      partition: InputPartition,
      cache: ColumnCache) {
    private val counters = new CacheCounters
    private val warmed = new WarmedChunks

    def run(): Warmed = {
      try {
        val context = CachedParquetReaderFactory.context(cache, partition, tableRules, counters)
          .warming(warmed)
        val content = SplitContent.of(parquet)
        val from = new HadoopSplitFile(file, content.hadoopConf, settings)
        val split = new OpenSplit(file, from, content, settings, conditions.runtime, cache, context)
        val groups = split.withCandidates(split.rowGroups, parquet.filters)
        val leaves = wantedLeaves(split)
        val vectors =
          if (settings.representation.usesVectors) vectorsOf(split) else Map.empty[Int, Long]
        groups.foreach(warm(split, _, leaves, vectors))
      } catch {
        case _: UnservedFileException => // Spark reads it alone.
      }
      Warmed.here(warmed, counters)
    }

    /** Ordinals of the leaf columns that Spark's reader would ask for. */
    private def wantedLeaves(split: OpenSplit): Seq[Int] = {
      val schema = split.metaData.getSchema
      val wanted = ParquetReadSupport
        .getRequestedSchema(
          schema,
          parquet.readDataSchema,
          parquet.broadcastedConf.value.value,
          enableVectorizedReader = true)
        .getPaths
        .asScala
        .map(_.toSeq)
        .toSet
      schema.getPaths.asScala.toSeq.map(_.toSeq).zipWithIndex.collect {
        case (path, leaf) if wanted(path) => leaf
      }
    }

    /** Representation of the vector chunks of a leaf column, where it can have any. */
    private def vectorsOf(split: OpenSplit): Map[Int, Long] =
      FlatColumn
        .of(
          split.metaData.getSchema,
          parquet.readDataSchema,
          split.calendar.text,
          parquet.broadcastedConf.value.value)
        .map(column => column.leaf -> column.representation)
        .toMap

    private def warm(
        split: OpenSplit,
        group: RowGroup,
        leaves: Seq[Int],
        vectors: Map[Int, Long]): Unit = {
      def isHeld(leaf: Int, representation: Long) =
        cache.vectors.isHeld(split.cached.key(group, leaf, representation))
      val (present, missing) = leaves
        .flatMap(leaf => Option(split.cached.chunk(group, leaf)).map(leaf -> _))
        .partition { case (leaf, _) =>
          isHeld(leaf, ChunkKey.ENCODED) || vectors.get(leaf).exists(isHeld(leaf, _))
        }
      present.foreach { case (_, chunk) => warmed.add(chunk, true, true) }
      WarmParquetReaders.batches(missing.map(_._2)).foreach { batch =>
        WarmReaderFactory.throwIfCancelled()
        split.cached.load(batch.asJava)
      }
    }
  }
}

private[spark] object WarmParquetReaders {

  /** Bytes loaded at a time, unless one chunk has more: they pass through the heap. */
  private val MostBytes = 32L << 20

  /** The chunks in the order of the file, in runs of so many bytes. */
  def batches(chunks: Seq[ChunkRequest]): Seq[Seq[ChunkRequest]] =
    chunks.sortBy(_.offset).foldLeft(List.empty[(Vector[ChunkRequest], Long)]) {
      case ((last, bytes) :: before, chunk) if bytes + chunk.length <= MostBytes =>
        (last :+ chunk, bytes + chunk.length) :: before
      case (before, chunk) => (Vector(chunk), chunk.length.toLong) :: before
    }.map(_._1).reverse
}
