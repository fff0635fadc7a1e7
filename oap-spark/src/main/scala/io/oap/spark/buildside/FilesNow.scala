package io.oap.spark.buildside

import java.util.concurrent.{Callable, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import io.oap.cache.file.HadoopFileSource
import io.oap.common.FileIdentity
import io.oap.spark.iceberg.IcebergRows
import io.oap.spark.rpc.Background
import io.oap.spark.scan.CachedParquetScan

/**
 * A file that a scan reads.
 *
 * @param partition values of its partition
 * @param listedBytes its length as the query lists it, by which it is split
 * @param metadata what a table says of the file, such as which of its rows are deleted
 * @param identity which bytes the path stands for now
 */
private[spark] final case class FileNow(
    partition: Seq[Any],
    listedBytes: Long,
    metadata: Map[String, Any],
    identity: FileIdentity)

/**
 * What scans would read now. The file system is asked which versions of files there are: a listing
 * may be as old as the session, so it does not tell; tasks ask, too, before they read. Which files of
 * Iceberg's tables are read, in which version, is settled with the plan.
 */
private[buildside] final class FilesNow private (reads: Seq[Either[IcebergRows, FilesNow.Asked]]) {
  import FilesNow._

  /** Whether the answer is always the same. */
  def areSettled: Boolean = reads.forall(_.fold(_ => true, _.isEmpty))

  /**
   * Returns what each scan reads, as `IcebergRows` or as `FileNow`; none where the store is silent for
   * long. Any thread may ask: it is the user who made this that is answered.
   *
   * @throws java.util.concurrent.ExecutionException when a file cannot be asked for
   */
  def ask(): Option[Seq[Any]] = {
    val all = reads.flatMap(_.getOrElse(Nil)).asJava
    val answers = threads.invokeAll(all, PatienceSeconds, TimeUnit.SECONDS).asScala.toSeq
    if (answers.exists(_.isCancelled)) None
    else {
      val files = answers.map(_.get).iterator
      Some(reads.map(_.map(_.map(_ => files.next()).sortBy(_.identity.path)).merge))
    }
  }
}

private[buildside] object FilesNow {
  private type Asked = Seq[Callable[FileNow]]

  /** With more files than that, asking for them may take longer than to build the side. */
  private val MostFiles = 64

  /** The longest that an answer takes. */
  val PatienceSeconds = 10

  private val threads = Background.threads("oap-file-status-%d", 8)

  /**
   * Finds out which files some scans list.
   *
   * @param scans those of a plan that has a shape, not in canonical form: that has no names
   * @return none where there are many files
   */
  def of(scans: Seq[SparkPlan]): Option[FilesNow] = {
    val files = scans.map(filesOf)
    val count = files.flatten.iterator.flatMap(_.toOption).map(_.size).sum
    Option.when(files.forall(_.isDefined) && count <= MostFiles)(new FilesNow(files.flatten))
  }

  private def filesOf(plan: SparkPlan): Option[Either[IcebergRows, Asked]] = plan match {
    case batch: BatchScanExec => batch.scan match {
        case parquet: CachedParquetScan => Some(Right(filesOf(parquet)))
        case other => IcebergRows.of(other).map(Left(_))
      }
    case scan: FileSourceScanExec =>
      val listed = scan.selectedPartitions
      Option.when(listed.totalNumberOfFiles <= MostFiles)(Right(filesOf(scan)))
    case _ => None
  }

  private def filesOf(scan: CachedParquetScan): Asked = for {
    folder <- scan.listed
    values = folder.values.toSeq(scan.fileIndex.partitionSchema)
    file <- folder.files
  } yield asking(file.fileStatus, scan.hadoopConf, values, file.metadata)

  private def filesOf(scan: FileSourceScanExec): Asked = {
    val files = scan.relation
    val conf = files.sparkSession.asInstanceOf[SparkSession].sessionState
      .newHadoopConfWithOptions(files.options)
    scan.selectedPartitions.filePartitionIterator.flatMap { folder =>
      val values = folder.values.toSeq(files.partitionSchema)
      folder.files.map(file => asking(file.fileStatus, conf, values, file.metadata))
    }.toSeq
  }

  private def asking(
      listed: FileStatus,
      conf: Configuration,
      partition: Seq[Any],
      metadata: Map[String, Any]): Callable[FileNow] = {
    // On the caller's thread, so that it is the caller's user who asks.
    val fs = listed.getPath.getFileSystem(conf)
    () =>
      FileNow(
        partition,
        listed.getLen,
        metadata,
        new HadoopFileSource(listed.getPath, fs).identity)
  }
}
