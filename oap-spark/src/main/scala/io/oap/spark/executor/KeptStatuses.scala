package io.oap.spark.executor

import java.time.Duration

import com.google.common.base.Ticker
import com.google.common.cache.{Cache, CacheBuilder}
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}

/**
 * Statuses of files that are never written again. Data files of Delta's tables are such: a commit adds
 * files and takes others out, and changes none (Delta's protocol, "Overview" and "Data Files"). So a
 * process asks a store for the version of one once in a while, rather than in each query. Where such a
 * file is overwritten nevertheless, that is noticed as late as that. Thread-safe.
 */
private[spark] final class KeptStatuses(ticker: Ticker) {
  import KeptStatuses._

  private val kept: Cache[Listed, FileStatus] = CacheBuilder.newBuilder()
    .maximumSize(MostFiles).expireAfterWrite(KeptFor).ticker(ticker).build()

  /**
   * The status of a file, as the store told it not long ago.
   *
   * @param listed what the table's log says of the file
   * @param fs asked where it is not known
   * @throws java.io.IOException when there is no such file, or the store fails
   */
  def of(listed: Listed, fs: FileSystem): FileStatus =
    Option(kept.getIfPresent(listed)).getOrElse(askAgain(listed, fs))

  /** The status of a file as it is now. */
  def askAgain(listed: Listed, fs: FileSystem): FileStatus = {
    val status = fs.getFileStatus(listed.path)
    kept.put(listed, status)
    status
  }

  /** Has the store asked again for a file. */
  def forget(listed: Listed): Unit = kept.invalidate(listed)

  /** Has the store asked again for all files. */
  def clear(): Unit = kept.invalidateAll()
}

private[spark] object KeptStatuses {

  /** About a kilobyte each. */
  private val MostFiles = 20000L

  val KeptFor: Duration = Duration.ofMinutes(10)

  /** A file of a table's log. The time need not be that of the file: tables are copied. */
  final case class Listed(path: Path, length: Long, modificationTime: Long)

  /** What this process has been told. */
  val here: KeptStatuses = new KeptStatuses(Ticker.systemTicker)
}
