package io.oap.spark.read

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.oap.cache.WarmedChunks
import io.oap.cache.WarmedChunks.Sum
import io.oap.cache.stats.{CacheCounters, MissCause}

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
    loaded: Sum = Sum.NONE,
    present: Sum = Sum.NONE,
    refused: Sum = Sum.NONE,
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

  /** What this executor has done, as its reader has recorded and counted it. */
  def here(chunks: WarmedChunks, counters: CacheCounters): Warmed = Warmed(
    SparkEnv.get.executorId,
    chunks.loaded,
    chunks.present,
    chunks.refused,
    MissCause.values.toSeq.map(cause => if (cause.isLoaded) 0L else counters.chunks(cause))
  )

  def of(row: InternalRow): Warmed = {
    def sum(at: Int) = new Sum(row.getLong(at), row.getLong(at + 1))
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
