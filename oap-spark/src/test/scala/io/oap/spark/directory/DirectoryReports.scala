package io.oap.spark.directory

import java.util.BitSet

import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta, ResidencyReply}

/** Reports of executors on files that are all alike. */
trait DirectoryReports {
  protected val limit = 1L << 20

  /** Two row groups of three leaves: `a`, and `B` with two. */
  protected val layout =
    FileLayout(Array("a", "B", "B"), Array(4L, 1000L), Array(1, 2, 4, 8, 16, 32))

  protected def bits(chunks: Int*): Array[Long] = {
    val set = new BitSet
    chunks.foreach(set.set)
    set.toLongArray
  }

  protected def added(file: Long, chunks: Int*): FileDelta =
    FileDelta(file, Some(layout), bits(chunks: _*), bits())

  protected def evicted(file: Long, chunks: Int*): FileDelta =
    FileDelta(file, None, bits(), bits(chunks: _*))

  protected def report(
      directory: Directory,
      executor: String,
      from: Long,
      files: FileDelta*): ResidencyReply =
    directory.accept(ResidencyDelta(executor, from, from + 1, files, 1000, 100 * (from + 1)))

  /** The first report of an executor that has a pool with others, of files that it holds some of. */
  protected def sharing(
      directory: Directory,
      executor: String,
      pool: String,
      files: FileDelta*): ResidencyReply =
    directory.accept(ResidencyDelta(executor, 0, 1, files, 1000, 100, pool = Some(pool)))

  protected def withExecutors(ids: String*): Directory = {
    val directory = new Directory(limit, () => 0)
    ids.foreach(id => directory.executorJoined(id, s"host$id", 4))
    directory
  }
}
