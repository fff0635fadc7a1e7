package io.oap.spark.buildside

import java.util.concurrent.{Callable, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import scala.jdk.CollectionConverters._

import com.google.common.util.concurrent.ThreadFactoryBuilder
import org.apache.hadoop.fs.{FileStatus, FileSystem}

import io.oap.cache.file.HadoopFileSource
import io.oap.common.FileIdentity
import io.oap.spark.scan.CachedParquetScan

/**
 * A file that a scan reads.
 *
 * @param partition values of its partition
 * @param listedBytes its length as the query lists it, by which it is split
 * @param identity which bytes the path stands for now
 */
private[spark] final case class FileNow(
    partition: Seq[Any],
    listedBytes: Long,
    identity: FileIdentity)

/**
 * Asks the file system which versions scans would read now. A listing may be as old as the session,
 * so it does not tell; tasks ask, too, before they read.
 */
private[spark] object FilesNow {

  /** With more files than that, asking for them may take longer than to build the side. */
  private val MostFiles = 64

  private val PatienceSeconds = 10

  private val threads = {
    val pool = new ThreadPoolExecutor(
      8,
      8,
      10,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      new ThreadFactoryBuilder().setDaemon(true).setNameFormat("oap-file-status-%d").build())
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  /**
   * Returns the files of each scan; none where there are many, or the store is silent for long.
   *
   * @throws java.util.concurrent.ExecutionException when a file cannot be asked for
   */
  def of(scans: Seq[CachedParquetScan]): Option[Seq[Seq[FileNow]]] = {
    val listed = scans.map(filesOf)
    val count = listed.iterator.map(_.size).sum
    if (count > MostFiles) None
    else {
      val answers =
        threads.invokeAll(listed.flatten.asJava, PatienceSeconds, TimeUnit.SECONDS).asScala.toSeq
      if (answers.exists(_.isCancelled)) None
      else {
        val files = answers.map(_.get).iterator
        Some(listed.map(_.map(_ => files.next()).sortBy(_.identity.path)))
      }
    }
  }

  private def filesOf(scan: CachedParquetScan): Seq[Callable[FileNow]] = for {
    folder <- scan.listed
    values = folder.values.toSeq(scan.fileIndex.partitionSchema)
    file <- folder.files
  } yield asking(file.fileStatus, file.getPath.getFileSystem(scan.hadoopConf), values)

  /** @param fs found on the caller's thread, so that it is the caller's user who asks */
  private def asking(
      listed: FileStatus,
      fs: FileSystem,
      partition: Seq[Any]): Callable[FileNow] =
    () =>
      FileNow(partition, listed.getLen, new HadoopFileSource(listed.getPath, fs).identity)
}
