package io.oap.spark.executor

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import io.oap.cache.ColumnCache
import io.oap.cache.pool.PoolSnapshot
import io.oap.cache.pool.PoolSnapshot.HeldKey

/** The row groups of this executor's pool that are asked for most. */
private object HottestRowGroups {

  /** What was asked for once may never be again. */
  private val LeastAsks = 2

  /** More than policies count of a chunk that is not pinned. */
  private val MostAsks = 31

  /**
   * Lists them, the hottest first.
   *
   * @param bytes no more than these together
   * @param most no more than so many
   */
  def of(cache: ColumnCache, bytes: Long, most: Int): HotRowGroups = {
    val held = cache.snapshot()
    val chunks = Outgoing.chunksOf(cache, held, _ => true)
    val hottest = rowGroups(chunks).sortBy(one => (-one.asks, one.file, one.rowGroup))
    val told = ArrayBuffer.empty[RowGroup]
    var sum = 0L
    for (one <- hottest if told.length < most && sum + one.bytes <= bytes) {
      told += one
      sum += one.bytes
    }
    HotRowGroups(
      told.map(_.file).toArray,
      told.map(_.rowGroup).toArray,
      told.map(_.bytes).toArray,
      told.map(_.asks).toArray,
      bytesByAsks(cache, held))
  }

  /** Of all chunks: those that are never copied take room as well. */
  private def bytesByAsks(cache: ColumnCache, held: PoolSnapshot): Array[Long] = {
    val bytes = new Array[Long](MostAsks + 1)
    for (chunk <- held.chunks.asScala)
      bytes(math.min(Outgoing.worth(cache, chunk), MostAsks)) += chunk.bytes
    bytes
  }

  private final case class RowGroup(file: Long, rowGroup: Int, bytes: Long, asks: Double)

  /** Columns of a row group move together, so they are hot or cold together. */
  private def rowGroups(chunks: Seq[(Long, HeldKey)]): Seq[RowGroup] = {
    val all = for {
      ((file, rowGroup), some) <- chunks.groupMap(c => (c._1, c._2.key.rowGroup))(_._2).toSeq
    } yield {
      val bytes = some.map(_.bytes).sum
      RowGroup(file, rowGroup, bytes, some.map(c => c.bytes * c.asks.toDouble).sum / bytes)
    }
    all.filter(_.asks >= LeastAsks)
  }
}
