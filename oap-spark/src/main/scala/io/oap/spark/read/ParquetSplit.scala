package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.hadoop.mapred.FileSplit
import org.apache.hadoop.mapreduce.{JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.filter2.predicate.{FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.parquet.hadoop.metadata.{FileMetaData, ParquetMetadata}
import org.apache.parquet.io.SeekableInputStream
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetReadSupport,
  VectorizedParquetRecordReader
}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.oap.cache.{ColumnCache, ReadContext}
import io.oap.cache.parquet.CachedParquetFile
import io.oap.cache.parquet.CachedParquetFile.RowGroup
import io.oap.cache.stats.Figure
import io.oap.common.ChunkKey
import io.oap.spark.vector.{DeletedPositions, FlatColumn}

/**
 * One split of a Parquet file, opened: the row groups in it, and Spark's vectorized reader over them
 * with their chunks taken from the cache.
 *
 * @param file which part of the file, and the values of columns of partitions
 * @param from the file itself
 * @throws UnservedFileException for files that are not for the cache
 */
private[spark] final class ParquetSplit(
    override val file: PartitionedFile,
    from: SplitFile,
    content: SplitContent,
    settings: ReadSettings,
    runtimeFilters: Array[Filter],
    cache: ColumnCache,
    context: ReadContext)
    extends OpenSplit {

  override type Group = ParquetGroup

  private def hadoopConf = content.hadoopConf

  val cached = new CachedParquetFile(from.source, () => from.footerOptions, cache, context)
  if (cached.isEncrypted) {
    throw new UnservedFileException(file.filePath.toString, "it is encrypted")
  }

  def metaData: FileMetaData = cached.footer().getFileMetaData

  val calendar: DatetimeRebase = from.calendar(metaData)

  val names: ColumnNames = from.names(cached.footer())

  override def deleted: DeletedPositions =
    from.deleted(cached.footer().getBlocks.asScala.map(_.getRowCount).sum)

  override def columns(schema: StructType): Seq[FlatColumn] = FlatColumn.of(
    metaData.getSchema,
    names.inFile(schema),
    calendar.text,
    hadoopConf)

  override val groups: Seq[ParquetGroup] = {
    val all = cached.rowGroups(file.start, file.length).asScala.toSeq.map(ParquetGroup(_))
    val kept = withCandidates(all, runtimeFilters)
    context.counters.add(Figure.ROW_GROUPS_PRUNED, all.size - kept.size)
    kept
  }

  override def candidates(filters: Array[Filter]): Seq[ParquetGroup] =
    withCandidates(groups, filters)

  /** All where the reader's options say that statistics are not to be used, as they may be wrong. */
  private def withCandidates(
      groups: Seq[ParquetGroup],
      filters: Array[Filter]): Seq[ParquetGroup] =
    if (!hadoopConf.getBoolean(ParquetInputFormat.STATS_FILTERING_ENABLED, true)) groups
    else pushed(filters).fold(groups) { predicate =>
      // As Parquet does before it asks: statistics tell nothing of a negation.
      val positive = LogicalInverseRewriter.rewrite(predicate)
      groups.filterNot(group =>
        StatisticsFilter.canDrop(positive, group.rowGroup.metaData.getColumns))
    }

  private def pushed(filters: Array[Filter]): Option[FilterPredicate] =
    settings.pushed(names.inFile(filters), metaData.getSchema, calendar.dates)

  override def key(group: ParquetGroup, leaf: Int, representation: Long): ChunkKey =
    cached.key(group.rowGroup, leaf, representation)

  override def encodedBytes(group: ParquetGroup, leaf: Int): Option[Long] =
    Option(cached.chunk(group.rowGroup, leaf)).map(_.length.toLong)

  override def isInFooter(group: ParquetGroup, leaf: Int): Boolean = false

  override def decoded(
      groups: Seq[ParquetGroup],
      schema: StructType,
      filters: Array[Filter],
      batchSize: Int): DecodedBatches =
    new ParquetBatches(this, groups.map(_.rowGroup), schema, filters, batchSize)

  override def recordRead(found: Long, asked: Long): Unit = cached.recordRead(found, asked)

  /**
   * Spark's reader over row groups of this split.
   *
   * @param schema what to read
   * @param filters filters of the query by which it may pass over rows, whole pages at a time
   * @param batchSize rows of a batch at most
   * @param stream the file's bytes, closed with the reader, and where there comes to be none
   */
  def reader(
      groups: Seq[RowGroup],
      schema: StructType,
      filters: Array[Filter],
      batchSize: Int,
      stream: SeekableInputStream): VectorizedParquetRecordReader = {
    val reader = newReader(batchSize)
    val task = new TaskAttemptContextImpl(
      hadoopConf,
      new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0))
    task.getConfiguration
      .set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA, names.inFile(schema).json)
    pushed(filters).foreach(ParquetInputFormat.setFilterPredicate(task.getConfiguration, _))
    // Our stream hands out whole chunks through this call, without a copy.
    task.getConfiguration.setBoolean(ParquetInputFormat.HADOOP_VECTORED_IO_ENABLED, true)
    var isOpen = false
    try {
      reader.initialize(
        new FileSplit(file.toPath, file.start, file.length, Array.empty[String]),
        task,
        Some(from.inputFile),
        Some(stream),
        Some(new ParquetMetadata(metaData, groups.map(_.metaData).asJava))
      )
      reader.initBatch(content.partition, file.partitionValues)
      reader.enableReturningBatches()
      isOpen = true
    } finally {
      // Closing twice does no harm: initialize may have failed before or after it took the stream.
      if (!isOpen) {
        reader.close()
        stream.close()
      }
    }
    reader
  }

  private def newReader(batchSize: Int): VectorizedParquetRecordReader =
    new VectorizedParquetRecordReader(
      calendar.int96Zone.orNull,
      calendar.dates.mode.toString,
      calendar.dates.timeZone,
      calendar.int96.mode.toString,
      calendar.int96.timeZone,
      settings.usesOffHeapVectors && TaskContext.get() != null,
      batchSize
    )
}

/** A row group of a Parquet file. */
private[spark] final case class ParquetGroup(rowGroup: RowGroup) extends SplitGroup {
  override def firstRow: Long = rowGroup.metaData.getRowIndexOffset

  override def rows: Long = rowGroup.metaData.getRowCount
}
