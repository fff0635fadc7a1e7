package io.oap.spark.read

import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ReadContext, VectorChunks}
import io.oap.common.ChunkKey
import io.oap.spark.vector.{DeletedPositions, FlatColumn}

/** Rows of a file that lie together in it, column by column: a row group, or a stripe of ORC. */
private[spark] trait SplitGroup {

  /** The position of its first row in the file, from 0. */
  def firstRow: Long

  def rows: Long
}

/** One split of a file, opened. For one thread. */
private[spark] trait OpenSplit {
  type Group <: SplitGroup

  /** Which part of the file, and the values of columns of partitions. */
  def file: PartitionedFile

  /** Rows of the file that are left out. */
  def deleted: DeletedPositions

  /** The columns of the read schema that can have vector chunks, in its order. */
  def columns(schema: StructType): Seq[FlatColumn]

  /** The groups in which a row may have a join key that Spark has sent. */
  def groups: Seq[Group]

  /** The groups that hold a candidate for filters of the query, too, as their statistics tell. */
  def candidates(filters: Array[Filter]): Seq[Group]

  /** @param leaf as [[FlatColumn]] has it */
  def key(group: Group, leaf: Int, representation: Long): ChunkKey

  /** How long a column's encoded chunk is. None where it has none that is for the cache. */
  def encodedBytes(group: Group, leaf: Int): Option[Long]

  /** Whether a column's encoded chunk is kept with the footer of the file, and not in the pool. */
  def isInFooter(group: Group, leaf: Int): Boolean

  /** Whether a column's encoded chunk can be decoded without a look at the file. */
  final def isAtHand(
      group: Group,
      leaf: Int,
      vectors: VectorChunks,
      context: ReadContext): Boolean =
    isInFooter(group, leaf) || vectors.isHeldInTiers(key(group, leaf, ChunkKey.ENCODED), context)

  /**
   * Spark's reader over groups of this split.
   *
   * @param schema what to read
   * @param filters filters of the query by which it may pass over rows
   * @param batchSize rows of a batch at most; no batch has rows of two groups
   */
  def decoded(
      groups: Seq[Group],
      schema: StructType,
      filters: Array[Filter],
      batchSize: Int): DecodedBatches

  /**
   * Records what was asked for of this file.
   *
   * @param found how many of the column chunks were in the pool
   * @param asked all of them
   */
  def recordRead(found: Long, asked: Long): Unit
}

/** Batches that Spark's reader decodes, behind whose columns stand those of partitions. For one thread. */
private[spark] trait DecodedBatches extends AutoCloseable {

  /** Fills the next batch; false when there is none. */
  def next(): Boolean

  /** The batch, until the next call of [[next]]. After a fault it may be another object. */
  def batch: ColumnarBatch

  /**
   * Drops the chunks in use that are damaged, and leaves the reader as it is: for a fault that shows
   * when the values of a batch are looked at.
   */
  def dropDamaged(): Unit
}

/** Batches made of the columns of other ones, each time the other ones are another object; of as many rows. */
private[spark] final class DerivedBatch(make: ColumnarBatch => ColumnarBatch) {
  private var from, made: ColumnarBatch = _

  def of(batch: ColumnarBatch): ColumnarBatch = {
    if (batch ne from) {
      from = batch
      made = make(batch)
    }
    made.setNumRows(batch.numRows)
    made
  }
}
