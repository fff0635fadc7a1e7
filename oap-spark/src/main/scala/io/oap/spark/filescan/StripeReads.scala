package io.oap.spark.filescan

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.spark.memory.MemoryMode
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.execution.datasources.parquet.ParquetOptions
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.common.ChunkKey
import io.oap.spark.filter.{RowFilter, SentFilters}
import io.oap.spark.read._
import io.oap.spark.vector.{FlatColumn, VectorType}

/**
 * How the tasks of a V1 scan read ORC files, stripe by stripe, where vector chunks serve: until their
 * chunks can be made of what the pool holds, Spark's reader reads the file as it always does.
 *
 * @param orc decodes stripes
 * @param filters of the query, by which Spark's reader passes over rows
 */
private[filescan] final case class StripeReads(
    orc: OrcDecoding,
    settings: ReadSettings,
    conditions: ScanConditions,
    filters: Array[Filter])
    extends OwnReads {

  override def returnsBatches: Boolean = true

  override def splits(cache: ColumnCache, context: ReadContext): SplitReaders = new SplitReaders(
    SplitContent(orc.readSchema, orc.partitionSchema, filters, orc.hadoopConf),
    settings,
    conditions,
    cache,
    context)

  override def batches(
      splits: SplitReaders,
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): PartitionReader[ColumnarBatch] =
    splits.openBatches {
      val split = new OrcSplit(file, orc, read, cache, context)
      if (!isServed(split, cache, context)) {
        throw new UnservedFileException(file.filePath.toString, "it has no vector chunks yet")
      }
      split
    }

  /** Whether some stripe has a vector chunk, or may get all without reading more than the pool holds. */
  private def isServed(split: OrcSplit, cache: ColumnCache, context: ReadContext): Boolean = {
    val vectors = cache.vectors
    val columns = split.columns(orc.readSchema)
    def isHeld(group: OrcStripe)(column: FlatColumn) =
      vectors.isHeld(split.key(group, column.leaf, column.representation))
    def isWanted(group: OrcStripe)(column: FlatColumn) = settings.promotes(
      vectors,
      split.key(group, column.leaf, column.representation),
      split.isAtHand(group, column.leaf, vectors, context))
    split.groups.exists { group =>
      val chunks = columns.filter(column => split.encodedBytes(group, column.leaf).isDefined)
      chunks.nonEmpty && (chunks.exists(isHeld(group)) || chunks.forall(isWanted(group)))
    }
  }

  /** A column counts as present when the pool holds its encoded chunk or its vector chunk. */
  override def warm(
      file: PartitionedFile,
      read: FileRead,
      cache: ColumnCache,
      context: ReadContext): Unit = {
    val split = new OrcSplit(file, orc, read, cache, context)
    val vectors = split.columns(orc.readSchema)
      .map(column => column.leaf -> column.representation).toMap
    val chunks = orc.readSchema.flatMap(split.chunks(_))
    val isPresent = chunks.forall { chunk =>
      val key = chunk.key
      cache.vectors.isHeld(key) || vectors.get(key.column).exists(representation =>
        cache.vectors.isHeld(new ChunkKey(key.file, key.rowGroup, key.column, representation)))
    }
    if (!isPresent) {
      throw new UnservedFileException(file.filePath.toString, "the pool does not hold all of it")
    }
    chunks.foreach(context.warmed.add(_, true, true))
  }
}

private[filescan] object StripeReads {

  /**
   * How a scan is read, where vector chunks may serve it.
   *
   * @param caching the configuration by which Spark's own function gets bytes from the cache
   */
  def of(scan: ScanRequest, above: AskedAbove, caching: Configuration): Option[StripeReads] = {
    val conf = scan.conf
    val settings = settingsOf(conf)
    val isServed = !(above.countsRows && scan.filters.nonEmpty) &&
      settings.representation.usesVectors && scan.returnsBatches && isVectorized(scan) &&
      OrcConf.MAX_FILE_LENGTH.getLong(caching) == OrcConf.MAX_FILE_LENGTH.getDefaultValue &&
      scan.requiredSchema.exists(field => VectorType.of(field.dataType).isDefined)
    Option.when(isServed) {
      val context = scan.session.sparkContext
      val names = scan.requiredSchema.fieldNames.toSeq
      val rows = if (conf.orcFilterPushDown) above.filters.rows(names) else Nil
      val joined = above.keys.filters(scan.requiredSchema)
      StripeReads(
        OrcDecoding(
          // Of its own: Spark's function notes down filters in the one that it has.
          SentConfigurations.broadcast(caching, Set.empty, context),
          scan.dataSchema,
          scan.requiredSchema,
          scan.partitionSchema,
          scan.options,
          conf.caseSensitiveAnalysis,
          conf.orcFilterPushDown,
          if (conf.offHeapColumnVectorEnabled) MemoryMode.OFF_HEAP else MemoryMode.ON_HEAP
        ),
        settings,
        ScanConditions(
          joined.rowGroups,
          SentFilters.of(RowFilter.needed(rows ++ joined.rows), context)),
        scan.filters.toArray
      )
    }
  }

  private def settingsOf(conf: SQLConf): ReadSettings = {
    val batchSize = conf.orcVectorizedReaderBatchSize
    ReadSettings.of(conf, new ParquetOptions(Map.empty[String, String], conf)).copy(
      batchSize = batchSize,
      representation = Representation.of(conf, batchSize))
  }

  private def isVectorized(scan: ScanRequest): Boolean =
    scan.conf.orcVectorizedReaderEnabled &&
      (scan.partitionSchema ++ scan.requiredSchema).forall(field =>
        OrcUtils.supportColumnarReads(
          field.dataType,
          scan.conf.orcVectorizedReaderNestedColumnEnabled))
}
