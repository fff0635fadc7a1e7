package io.oap.spark.read

import java.util.concurrent.FutureTask

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.hadoop.util.functional.FutureIO
import org.apache.spark.internal.Logging
import org.apache.spark.sql.execution.datasources.PartitionedFile

import io.oap.cache.file.HadoopFileSource
import io.oap.spark.rpc.Background

/**
 * The files of one task, each in the version that its store tells of. An object store takes some tens
 * of milliseconds to tell one, so the next files are asked for while one is read. For one thread.
 *
 * @param parts of files, in the order in which they are read
 * @param conf by which their file systems are found
 */
private[read] final class FilesAhead(parts: Array[PartitionedFile], conf: Configuration)
    extends Logging {
  import FilesAhead._

  private val asked = mutable.HashMap.empty[Path, Asked]
  private var following = 0

  /**
   * The file of the next part. Its store is asked once, however many parts of it the task reads.
   *
   * @throws java.io.FileNotFoundException when there is no such file
   */
  def source(part: PartitionedFile): HadoopFileSource = {
    following += 1
    askAhead()
    val one = asking(part.toPath)
    new HadoopFileSource(one.now, one.fs)
  }

  /** A fault of a later file is told when its turn comes. */
  private def askAhead(): Unit =
    for (path <- parts.slice(following, following + Most).iterator.map(_.toPath))
      if (!asked.contains(path)) {
        try threads.execute(asking(path).task)
        catch {
          case NonFatal(e) => logDebug(s"$path is not asked for ahead", e)
        }
      }

  /** Asks anew where that has failed before. */
  private def asking(path: Path): Asked = asked.get(path).filterNot(_.hasFailed).getOrElse {
    // The file system is got on the task's thread, so that it is the task's user who asks.
    val one = new Asked(path, path.getFileSystem(conf))
    asked(path) = one
    one
  }
}

private object FilesAhead {

  /** So many parts are asked for ahead, and so many files at a time in a process. */
  private val Most = 8

  /** More than that are left to the tasks that need them. */
  private val MostWaiting = 1000

  private val threads = Background.threads("oap-files-ahead-%d", Most, MostWaiting)

  private final class Asked(path: Path, val fs: FileSystem) {
    val task = new FutureTask[FileStatus](() => fs.getFileStatus(path))

    /** The status; whoever comes first asks for it. */
    def now: FileStatus = {
      task.run()
      FutureIO.awaitFuture(task)
    }

    def hasFailed: Boolean = task.isDone && {
      try {
        task.get()
        false
      } catch { case NonFatal(_) => true }
    }
  }
}
