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
import io.oap.spark.framescan.CachedRows
import io.oap.spark.iceberg.RowsOfIceberg
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
 * What a plan would read now. The file system is asked which versions of files there are: a listing
 * may be as old as the session, so it does not tell; tasks ask, too, before they read. Which files of
 * Iceberg's tables are read, in which version, is settled with the plan. A broadcast below the plan
 * has read its files already, perhaps in other versions than there are now. Cached DataFrames stay what
 * they are.
 */
private[buildside] final class FilesNow private (sources: Seq[FilesNow.Source]) {
  import FilesNow._

  /** Whether the answer is always the same. */
  def areSettled: Boolean = sources.forall(_.scans.forall(_.fold(_ => true, _.isEmpty)))

  /**
   * Returns what each scan reads, as `IcebergRows`, `CachedRows` or `FileNow`: files of broadcasts
   * below as these have read them, all others as they are now. None where the store is silent for long.
   *
   * @throws java.util.concurrent.ExecutionException when a file cannot be asked for
   */
  def ask(): Option[Seq[Any]] =
    answers(sources.flatMap(source => source.read.fold(source.scans)(_.map(Left(_)))))

  /**
   * Returns what each scan would read if all of the plan began now, as `ask` does. Any thread may ask:
   * it is the user who made this that is answered.
   *
   * @throws java.util.concurrent.ExecutionException when a file cannot be asked for
   */
  def askAgain(): Option[Seq[Any]] = answers(sources.flatMap(_.scans))

  /** Returns all of this as what a broadcast has read. */
  private def asRead(reads: Seq[Any]): Source = Source(sources.flatMap(_.scans), Some(reads))

  private def fileCount: Int =
    sources.iterator.flatMap(_.scans).flatMap(_.toOption).map(_.size).sum
}

private[buildside] object FilesNow {
  private type Asked = Seq[Callable[FileNow]]

  /**
   * Scans that rows come from.
   *
   * @param read what a broadcast has read of them; none where they are still to be read
   */
  private final case class Source(scans: Seq[Either[Any, Asked]], read: Option[Seq[Any]])

  /** With more files than that, asking for them may take longer than to build the side. */
  private val MostFiles = 64

  /** The longest that an answer takes. */
  val PatienceSeconds = 10

  private val threads = Background.threads("oap-file-status-%d", 8)

  /**
   * Finds out which files some scans list.
   *
   * @param sources those of a plan that has a shape, not in canonical form: that has no names
   * @return none where there are many files, or where a broadcast does not tell what it has read
   */
  def of(sources: Seq[SparkPlan]): Option[FilesNow] = {
    val found = sources.map {
      case broadcast: KeptBroadcastExec =>
        broadcast.read.map { case (files, reads) => files.asRead(reads) }
      case scan => filesOf(scan).map(files => Source(Seq(files), None))
    }
    Option.when(found.forall(_.isDefined))(new FilesNow(found.flatten))
      .filter(_.fileCount <= MostFiles)
  }

  private def answers(scans: Seq[Either[Any, Asked]]): Option[Seq[Any]] = {
    val all = scans.flatMap(_.getOrElse(Nil)).asJava
    val answers = threads.invokeAll(all, PatienceSeconds, TimeUnit.SECONDS).asScala.toSeq
    if (answers.exists(_.isCancelled)) None
    else {
      val files = answers.map(_.get).iterator
      Some(scans.map(_.map(_.map(_ => files.next()).sortBy(_.identity.path)).merge))
    }
  }

  private def filesOf(plan: SparkPlan): Option[Either[Any, Asked]] = plan match {
    case batch: BatchScanExec => batch.scan match {
        case parquet: CachedParquetScan => filesOf(parquet).map(Right(_))
        case other => RowsOfIceberg.of(other).map(Left(_))
      }
    case scan: FileSourceScanExec =>
      val listed = scan.selectedPartitions
      Option.when(listed.totalNumberOfFiles <= MostFiles)(Right(filesOf(scan)))
    case scan => CachedRows.of(scan).map(Left(_))
  }

  private def filesOf(scan: CachedParquetScan): Option[Asked] = {
    val listed = scan.listed
    // First, as each file costs a look-up of its file system.
    Option.when(listed.iterator.map(_.files.size).sum <= MostFiles) {
      for {
        folder <- listed
        values = folder.values.toSeq(scan.fileIndex.partitionSchema)
        file <- folder.files
      } yield asking(file.fileStatus, scan.hadoopConf, values, file.metadata)
    }
  }

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
