package io.oap.spark.dataframe

import java.util.concurrent.atomic.AtomicLong

import com.google.common.hash.Hashing
import org.apache.spark.SparkEnv

import io.oap.common.{ChunkKey, EntryKind, FileId}

/** Keys of chunks that no file has. Each is given once. */
private[spark] object OwnedKeys {
  private val batches = new AtomicLong

  /** What stands for a batch in place of a file. */
  def newBatch(): FileId = {
    // The pool outlives applications, so that a number alone may come twice.
    val environment = SparkEnv.get
    val owner = s"cached batch ${environment.conf.getAppId} ${environment.executorId}"
    val hash = Hashing.sha256().hashUnencodedChars(owner)
    new FileId(hash.asLong(), batches.incrementAndGet())
  }

  /** The key of a column of a batch. */
  def column(batch: FileId, column: Int): ChunkKey =
    new ChunkKey(batch, 0, column, EntryKind.CACHED_BATCH.representation(0))

  /** The key of what is no column. */
  def next(): ChunkKey = column(newBatch(), 0)
}
