package io.oap.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{CacheCounters, ColumnCache}

/**
 * Opens the splits of one task: with Spark's vectorized reader over cached files, or, where vector
 * chunks may be used, with a reader that takes what it can from those.
 *
 * Closing a reader ends its pins. Spark does that when the split or the task ends, however the
 * task ends. No listener of ours does it: it would run before those of the operators above, which
 * may still look at the last batch (SPARK-37089).
 */
private final class SplitReaders(
    parquet: ParquetPartitionReaderFactory,
    settings: ReadSettings,
    conditions: ScanConditions,
    cache: ColumnCache,
    counters: CacheCounters)
    extends AutoCloseable {

  /** Nothing where only encoded chunks are read. */
  private val vectorTask =
    if (settings.representation.usesVectors && parquet.readDataSchema.nonEmpty) {
      Some(new VectorTask(parquet, settings, conditions, cache, counters))
    } else {
      None
    }

  def openBatches(file: PartitionedFile): PartitionReader[ColumnarBatch] = {
    val split = new SplitFile(file, parquet, settings, conditions.runtime, cache, counters)
    vectorTask match {
      case Some(task) => new VectorSplitReader(split, task)
      case None =>
        new EncodedSplitReader(
          split.reader(
            split.rowGroups,
            parquet.readDataSchema,
            parquet.filters,
            settings.batchSize))
    }
  }

  def openRows(file: PartitionedFile): PartitionReader[InternalRow] =
    new RowsOfBatches(openBatches(file))

  override def close(): Unit = vectorTask.foreach(_.close())
}

/** One open split as batches of Spark's reader. */
private final class EncodedSplitReader(reader: VectorizedParquetRecordReader)
    extends PartitionReader[ColumnarBatch] {
  override def next(): Boolean = reader.nextKeyValue()

  override def get(): ColumnarBatch = reader.resultBatch()

  override def close(): Unit = reader.close()
}

/** The rows of batches, one by one. */
private final class RowsOfBatches(batches: PartitionReader[ColumnarBatch])
    extends PartitionReader[InternalRow] {
  private var row = 0
  private var rowsInBatch = 0

  override def next(): Boolean = {
    row += 1
    while (row >= rowsInBatch && batches.next()) {
      row = 0
      rowsInBatch = batches.get().numRows
    }
    row < rowsInBatch
  }

  override def get(): InternalRow = batches.get().getRow(row)

  override def close(): Unit = batches.close()
}
