package io.oap.spark.read

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.oap.cache.{ColumnCache, ReadContext}

/**
 * Opens the splits of one task: with Spark's vectorized reader over cached files, or, where vector
 * chunks may be used or rows be dropped, with a reader that goes from row group to row group.
 *
 * Closing a reader ends its pins. Spark does that when the split or the task ends, however the
 * task ends. No listener of ours does it: it would run before those of the operators above, which
 * may still look at the last batch (SPARK-37089).
 *
 * A thread that reads for the task may outlive it, as those do that feed scripts and Python. Once
 * this is closed it gets no more batches: their memory would be gone, and nobody would end its
 * pins. To close waits for the batch that such a thread is at.
 */
private[spark] final class SplitReaders(
    content: SplitContent,
    settings: ReadSettings,
    conditions: ScanConditions,
    cache: ColumnCache,
    context: ReadContext)
    extends AutoCloseable {

  private val readsRowGroups = content.data.nonEmpty &&
    (settings.representation.usesVectors || conditions.rows.areOnValues)

  // One reader at a time has each: what it gives lies there. Seldom more than one is needed, as for
  // an RDD beside itself, whose tasks read one file while another is open.
  private var contexts = List.empty[TaskReadContext]
  private var idle = List.empty[TaskReadContext]

  private var isClosed = false
  private var opened = List.empty[OpenReader]

  // Values are decoded late, when an operator looks at them: it may be the first to meet damage.
  for (task <- Option(TaskContext.get())) {
    task.addTaskFailureListener((_, _) => if (!task.isInterrupted()) dropDamaged())
  }

  /** Lets the task that runs again read the file, where damage in the pool made this one fail. */
  private def dropDamaged(): Unit = synchronized(opened.foreach(_.batches.dropDamaged()))

  /**
   * Opens a split of a Parquet file.
   *
   * @param from the file; looked for unless this is closed
   */
  def openBatches(file: PartitionedFile, from: => SplitFile): PartitionReader[ColumnarBatch] =
    openBatches(
      new ParquetSplit(file, from, content, settings, conditions.runtime, cache, context))

  /** @param split opened unless this is closed */
  def openBatches(split: => OpenSplit): PartitionReader[ColumnarBatch] = synchronized {
    val reader = Option.unless(isClosed)(FileBlame.sparing(reading(split)))
    opened = reader.toList ::: opened
    new GuardedReader(reader)
  }

  private def idleContext(): TaskReadContext = {
    if (idle.isEmpty) {
      idle = List(new TaskReadContext(content, settings, conditions, cache, context))
      contexts = idle ::: contexts
    }
    idle.head
  }

  private def reading(open: => OpenSplit): OpenReader = {
    val counters = context.counters
    val foundBefore = counters.chunksHit
    val askedBefore = counters.chunksAsked
    val split = open
    val deleted = split.deleted
    val task = Option.when(readsRowGroups || !deleted.isEmpty)(idleContext())
    val batches = task match {
      case Some(task) => new RowGroupsReader(split, task, deleted)
      case None =>
        new EncodedSplitReader(
          split.decoded(split.groups, content.data, content.filters, settings.batchSize))
    }
    idle = idle.filterNot(task.contains)
    new OpenReader(
      batches,
      task,
      () =>
        split.recordRead(
          counters.chunksHit - foundBefore,
          counters.chunksAsked - askedBefore))
  }

  /** Ends what is read, and frees the memory that splits share. A second call does nothing. */
  override def close(): Unit = synchronized {
    isClosed = true
    val ended = contexts
    contexts = Nil
    idle = Nil
    ended.foreach(_.close())
  }

  private def close(reader: OpenReader): Unit =
    try reader.close()
    finally {
      opened = opened.filterNot(_ eq reader)
      idle = reader.task.toList ::: idle
    }

  /** @param split none: the task had ended before it was opened */
  private final class GuardedReader(private var split: Option[OpenReader])
      extends PartitionReader[ColumnarBatch] {
    override def next(): Boolean =
      SplitReaders.this.synchronized(!isClosed && split.exists(open =>
        FileBlame.sparing(open.batches.next())))

    override def get(): ColumnarBatch = split.get.batches.get()

    override def close(): Unit = SplitReaders.this.synchronized {
      val open = split
      split = None
      open.foreach(SplitReaders.this.close(_))
    }
  }
}

/** A reader of one open split. */
private[spark] trait SplitReader extends PartitionReader[ColumnarBatch] {

  /** Drops the chunks of the last batch that are damaged in the pool. Reads them all. */
  def dropDamaged(): Unit
}

/**
 * @param task what the reader has for itself until it is closed
 * @param tell says what was asked for of the file
 */
private final class OpenReader(
    val batches: SplitReader,
    val task: Option[TaskReadContext],
    tell: () => Unit)
    extends AutoCloseable {
  override def close(): Unit =
    try batches.close()
    finally tell()
}

/** One open split as batches of Spark's reader. */
private final class EncodedSplitReader(batches: DecodedBatches) extends SplitReader {
  override def next(): Boolean = batches.next()

  override def get(): ColumnarBatch = batches.batch

  override def dropDamaged(): Unit = batches.dropDamaged()

  override def close(): Unit = batches.close()
}

/** The rows of batches, one by one. */
private[spark] final class RowsOfBatches(batches: PartitionReader[ColumnarBatch])
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
