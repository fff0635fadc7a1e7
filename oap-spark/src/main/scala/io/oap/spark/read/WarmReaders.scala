package io.oap.spark.read

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkEnv, TaskContext, TaskKilledException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.unsafe.types.UTF8String

import io.oap.cache.{ChunkRequest, ColumnCache}
import io.oap.cache.parquet.CachedParquetFile.RowGroup
import io.oap.cache.stats.{CacheCounters, MissCause}
import io.oap.common.ChunkKey
import io.oap.spark.executor.ExecutorCache
import io.oap.spark.table.ScanCachePolicy
import io.oap.spark.vector.FlatColumn

/** A number of column chunks, and their encoded bytes. */
private[spark] final case class ChunkSum(chunks: Long, bytes: Long) {
  def +(that: ChunkSum): ChunkSum = ChunkSum(chunks + that.chunks, bytes + that.bytes)
}

private[spark] object ChunkSum {
  val Zero = ChunkSum(0, 0)

  def of(chunks: Seq[ChunkRequest]): ChunkSum =
    ChunkSum(chunks.size.toLong, chunks.map(_.length.toLong).sum)
}

/**
 * What one task did to warm the pool of an executor.
 *
 * @param present what the pool held already
 * @param refused what it did not take in
 * @param causes how many chunks of the refused ones for each cause, by ordinal of `MissCause`
 * @param isElsewhere nothing was done, because the chunks belong to another executor
 * @param fault why the executor has no cache
 */
private[spark] final case class Warmed(
    executor: String,
    loaded: ChunkSum = ChunkSum.Zero,
    present: ChunkSum = ChunkSum.Zero,
    refused: ChunkSum = ChunkSum.Zero,
    causes: Seq[Long] = Seq.fill(MissCause.values.length)(0L),
    isElsewhere: Boolean = false,
    fault: Option[String] = None) {

  def toRow: InternalRow = InternalRow.fromSeq(
    Seq[Any](
      UTF8String.fromString(executor),
      isElsewhere,
      fault.map(UTF8String.fromString).orNull) ++
      Seq(loaded, present, refused).flatMap(sum => Seq(sum.chunks, sum.bytes)) ++ causes)
}

private[spark] object Warmed {
  def of(row: InternalRow): Warmed = {
    def sum(at: Int) = ChunkSum(row.getLong(at), row.getLong(at + 1))
    Warmed(
      row.getUTF8String(0).toString,
      sum(3),
      sum(5),
      sum(7),
      MissCause.values.indices.map(i => row.getLong(9 + i)),
      row.getBoolean(1),
      Option(row.getUTF8String(2)).map(_.toString)
    )
  }
}

/**
 * Makes readers that give no rows of the table: they load the chunks that a scan would read, and
 * give for each file a [[Warmed]] as a row. Row groups that the scan's filters rule out by their
 * statistics are left out. Nothing is decoded, and nothing is counted as hit or missed.
 *
 * @param isPatient whether a task that runs elsewhere than its chunks belong does nothing
 */
private[spark] final class WarmReaderFactory(
    parquet: ParquetPartitionReaderFactory,
    conditions: ScanConditions,
    settings: ReadSettings,
    tableRules: ScanCachePolicy,
    isPatient: Boolean)
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val here = SparkEnv.get.executorId
    if (isPatient && CachedParquetReaderFactory.isElsewhere(partition))
      one(Warmed(here, isElsewhere = true))
    else {
      ExecutorCache.get() match {
        case None =>
          one(Warmed(here, fault = ExecutorCache.ifOpened.flatMap(_.left.toOption)))
        case Some(cache) =>
          cache.limit(tableRules.limits.asJava)
          new FilePartitionReader[InternalRow](
            partition.asInstanceOf[FilePartition].files.iterator,
            file => new OneRow(() => new FileWarming(file, partition, cache, here).run().toRow),
            parquet.options)
      }
    }
  }

  private def one(row: Warmed): PartitionReader[InternalRow] = new OneRow(() => row.toRow)

  /** The part of one file that a task is to warm. */
  private final class FileWarming(
      file: PartitionedFile,
      partition: InputPartition,
      cache: ColumnCache,
      here: String) {
    private val counters = new CacheCounters
    private var result = Warmed(here)

    def run(): Warmed = {
      try {
        val context = CachedParquetReaderFactory.context(cache, partition, tableRules, counters)
        val split = new OpenSplit(file, parquet, settings, conditions.runtime, cache, context)
        val groups = split.withCandidates(split.rowGroups, parquet.filters)
        val leaves = wantedLeaves(split)
        val vectors =
          if (settings.representation.usesVectors) vectorsOf(split) else Map.empty[Int, Long]
        groups.foreach(warm(split, _, leaves, vectors))
      } catch {
        case _: EncryptedFileException => // Spark reads it alone.
      }
      val refusals = MissCause.values.toSeq.map(cause =>
        if (cause.isLoaded) 0L else counters.chunks(cause))
      result.copy(causes = refusals)
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
      result = result.copy(present = result.present + ChunkSum.of(present.map(_._2)))
      WarmReaderFactory.batches(missing.map(_._2)).foreach { batch =>
        if (TaskContext.get().isInterrupted())
          throw new TaskKilledException("warming was cancelled")
        split.cached.load(batch.asJava)
        val (loaded, refused) = batch.partition(chunk => cache.vectors.isHeld(chunk.key))
        result = result.copy(
          loaded = result.loaded + ChunkSum.of(loaded),
          refused = result.refused + ChunkSum.of(refused))
      }
    }
  }
}

private[spark] object WarmReaderFactory {

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

/** A reader of one row. */
private final class OneRow(row: () => InternalRow) extends PartitionReader[InternalRow] {
  private var isRead = false
  private var value: InternalRow = _

  override def next(): Boolean = {
    val isFirst = !isRead
    isRead = true
    if (isFirst) value = row()
    isFirst
  }

  override def get(): InternalRow = value

  override def close(): Unit = ()
}
