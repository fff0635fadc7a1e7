package io.oap.spark.read

import scala.util.control.NonFatal

import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.oap.cache.{ColumnCache, ReadContext, VectorChunks}
import io.oap.cache.stats.CacheCounters
import io.oap.cache.vector.{NativeBuffer, VectorChunk}
import io.oap.common.ChunkKey
import io.oap.spark.filter.{PreparedFilters, SentFilters, TaskFilter}
import io.oap.spark.vector.{RowSelection, ScanVector, ZoneCopy}

/**
 * What a query says about the rows of a scan; goes to the executors once per stage.
 *
 * @param runtime join keys that came with the query, as filters that rule out row groups
 * @param rows conditions on single columns that every wanted row meets, the join keys among them
 */
private[spark] final case class ScanConditions(runtime: Array[Filter], rows: SentFilters)

/**
 * What splits of a task that are read row group by row group, one after the other, share. For one
 * thread.
 */
private[spark] final class TaskReadContext(
    content: SplitContent,
    settings: ReadSettings,
    conditions: ScanConditions,
    cache: ColumnCache,
    val context: ReadContext)
    extends AutoCloseable {

  def counters: CacheCounters = context.counters

  def readSchema: StructType = content.data

  def partitionSchema: StructType = content.partition

  /** Filters of the query by which row groups are ruled out. */
  def filters: Array[Filter] = content.filters

  /** Rows of a batch where no vector chunk is read or made. */
  def batchSize: Int =
    if (rowFilters.isEmpty) settings.batchSize
    else math.min(settings.batchSize, VectorChunk.ZONE_ROWS)

  def usesVectors: Boolean = settings.representation.usesVectors

  val vectors: VectorChunks = cache.vectors()

  /** None where they cannot be prepared: Spark's own operators repeat them. */
  private val prepared: Option[PreparedFilters] =
    try {
      selection // which they need
      Some(conditions.rows.prepare())
    } catch {
      case NonFatal(_) | _: OutOfMemoryError => None // of memory outside the heap
    }

  val rowFilters: Seq[TaskFilter] = prepared.toSeq.flatMap(_.all).map(new TaskFilter(_))

  lazy val zoneCopy: ZoneCopy = new ZoneCopy

  /** What columns of vector chunks are unpacked to, by place in the read schema; null until then. */
  val unpacked: Array[ScanVector] = new Array(readSchema.length)

  /** The wanted rows of a zone or batch, for the row group that is open. */
  lazy val selection: RowSelection = new RowSelection(new NativeBuffer(VectorChunk.ZONE_ROWS * 2))

  /** As [[ReadSettings.promotes]], where [[usesVectors]]. */
  def promotes(vector: ChunkKey, isHeld: Boolean): Boolean =
    settings.promotes(vectors, vector, isHeld)

  override def close(): Unit = {
    rowFilters.foreach(_.close())
    prepared.foreach(_.close())
  }
}
