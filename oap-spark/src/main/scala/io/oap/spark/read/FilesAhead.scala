package io.oap.spark.read

import java.util.concurrent.FutureTask

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.util.functional.FutureIO
import org.apache.spark.sql.execution.datasources.PartitionedFile

import io.oap.cache.file.HadoopFileSource
import io.oap.spark.rpc.Background

/**
 * The files of one task, each in the version that its store tells of. An object store takes some tens
 * of milliseconds to tell one, so the next files are asked for while one is read. For one thread.
 *
 * @param files in the order in which they are read
 * @param conf by which their file systems are found
 */
private[read] final class FilesAhead(files: Array[PartitionedFile], conf: Configuration) {
  import FilesAhead._

  private val asked = mutable.HashMap.empty[Path, FutureTask[FileStatus]]
  private var isNext = 0

  /**
   * The next file. Its store is asked once, however many parts of the file the task reads.
   *
   * @throws java.io.FileNotFoundException when there is no such file
   */
  def source(file: PartitionedFile): HadoopFileSource = {
    val path = file.toPath
    val fs = path.getFileSystem(conf)
    val status = asking(path)
    isNext += 1
    for (later <- files.slice(isNext, isNext + Most).iterator.map(_.toPath))
      if (!asked.contains(later)) threads.execute(asking(later))
    // No thread may have come to it yet. Where one has, this does nothing.
    status.run()
    new HadoopFileSource(FutureIO.awaitFuture(status), fs)
  }

  private def asking(path: Path): FutureTask[FileStatus] = asked.getOrElseUpdate(
    path, {
      // On the task's thread, so that it is the task's user who asks.
      val fs = path.getFileSystem(conf)
      new FutureTask[FileStatus](() => fs.getFileStatus(path))
    }
  )
}

private object FilesAhead {

  /** So many files are asked for ahead, and so many at a time in a process. */
  private val Most = 8

  private val threads = Background.threads("oap-files-ahead-%d", Most)
}
