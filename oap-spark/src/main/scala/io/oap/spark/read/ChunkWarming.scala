package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.cache.file.HeapRuns
import io.oap.cache.layout.ChunkRequest
import io.oap.common.ChunkKey

/**
 * Loads what our own readers would read of Parquet files, by the footers: row groups that the scan's
 * filters rule out by their statistics are left out, and nothing is decoded. A column counts as
 * present when the pool holds its encoded chunk or its vector chunk.
 *
 * @param runtimeFilters as in [[ParquetSplit]]
 * @param context of a reader that only sees to it that chunks are there
 */
private[spark] final class ChunkWarming(
    content: SplitContent,
    settings: ReadSettings,
    runtimeFilters: Array[Filter],
    cache: ColumnCache,
    context: ReadContext) {

  /**
   * Loads a part of a file.
   *
   * @throws UnservedFileException where another reader has to read the file
   */
  def warm(file: PartitionedFile, from: SplitFile): Unit = {
    val split = new ParquetSplit(file, from, content, settings, runtimeFilters, cache, context)
    val leaves = wantedLeaves(split, split.names.inFile(content.data))
    val vectors =
      if (settings.representation.usesVectors) vectorsOf(split) else Map.empty[Int, Long]
    split.candidates(content.filters).foreach(warm(split, _, leaves, vectors))
  }

  /** Ordinals of the leaf columns that Spark's reader would ask for. */
  private def wantedLeaves(split: ParquetSplit, schema: StructType): Seq[Int] = {
    val inFile = split.metaData.getSchema
    val wanted = ParquetReadSupport
      .getRequestedSchema(inFile, schema, content.hadoopConf, enableVectorizedReader = true)
      .getPaths
      .asScala
      .map(_.toSeq)
      .toSet
    inFile.getPaths.asScala.toSeq.map(_.toSeq).zipWithIndex.collect {
      case (path, leaf) if wanted(path) => leaf
    }
  }

  /** Representation of the vector chunks of a leaf column, where it can have any. */
  private def vectorsOf(split: ParquetSplit): Map[Int, Long] =
    split.columns(content.data).map(column => column.leaf -> column.representation).toMap

  private def warm(
      split: ParquetSplit,
      group: ParquetGroup,
      leaves: Seq[Int],
      vectors: Map[Int, Long]): Unit = {
    def isHeld(leaf: Int, representation: Long) =
      cache.vectors.isHeld(split.key(group, leaf, representation))
    val (present, missing) = leaves
      .flatMap(leaf => Option(split.cached.chunk(group.rowGroup, leaf)).map(leaf -> _))
      .partition { case (leaf, _) =>
        isHeld(leaf, ChunkKey.ENCODED) || vectors.get(leaf).exists(isHeld(leaf, _))
      }
    present.foreach { case (_, chunk) => context.warmed.add(chunk, true, true) }
    val inOrder = missing.map(_._2).sortBy(_.offset)
    HeapRuns.of[ChunkRequest](inOrder.asJava, _.length.toLong).forEach { run =>
      WarmReaderFactory.throwIfCancelled()
      split.cached.load(run)
    }
  }
}
