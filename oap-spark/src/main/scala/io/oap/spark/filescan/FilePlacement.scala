package io.oap.spark.filescan

import scala.util.control.NonFatal

import org.apache.hadoop.fs.{BlockLocation, FileStatus, LocatedFileStatus}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.PartitionedFileUtil
import org.apache.spark.sql.execution.datasources.{
  FilePartition,
  FileStatusWithMetadata,
  PartitionDirectory
}
import org.apache.spark.sql.internal.SQLConf

import io.oap.spark.placement.PlacementRules
import io.oap.spark.read.PlacedPartition
import io.oap.spark.scan.PartitionPlan

/**
 * Tells Spark on which executors the files of a V1 scan are best read, as if these were the hosts of
 * their blocks. How files are cut and packed into tasks stays Spark's decision, which knows nothing
 * of that: of a task with many small files those count that most of its bytes lie in.
 *
 * @param columns what the scan reads, as the files call it
 */
private[filescan] final class FilePlacement(
    session: SparkSession,
    conf: SQLConf,
    columns: Seq[String],
    rules: PlacementRules)
    extends Logging {

  /** Returns the files with the places where they are to be read. */
  def placed(directories: Seq[PartitionDirectory]): Seq[PartitionDirectory] =
    try {
      val places = placesOf(directories.flatMap(_.files))
      directories.map(one => one.copy(files = one.files.map(located(_, places))))
    } catch {
      case NonFatal(e) =>
        logWarning(s"The files of a scan are read where Spark chooses: ${e.getMessage}")
        directories
    }

  /** The ranges of each file that have a place, by path. */
  private def placesOf(files: Seq[FileStatusWithMetadata]): Map[String, Seq[BlockLocation]] = {
    val whole = files.map(file =>
      PartitionedFileUtil.getPartitionedFile(
        file,
        file.getPath,
        InternalRow.empty,
        0,
        file.getLen))
    // One piece for each executor: the tasks are Spark's.
    val plan =
      PartitionPlan.of(session.sparkContext, conf, columns, rules, taskBytes = Long.MaxValue)
    val placed = for {
      partition <- plan.of(Seq(FilePartition(0, whole.toArray))).toSeq
        .map(_.asInstanceOf[PlacedPartition])
      all = partition.preferredLocations()
      if all.nonEmpty
      (file, i) <- partition.files.zipWithIndex
      hosts = FilePlacement.named(all, partition.executors.length, i)
    } yield file.toPath.toString -> new BlockLocation(hosts, hosts, file.start, file.length)
    placed.groupMap(_._1)(_._2)
  }

  private def located(
      file: FileStatusWithMetadata,
      places: Map[String, Seq[BlockLocation]]): FileStatusWithMetadata =
    places.get(file.getPath.toString).fold(file) { blocks =>
      val status = file.fileStatus
      // Owners and permissions are left out: some file systems run a command to learn them.
      val bare = new FileStatus(
        status.getLen,
        status.isDirectory,
        status.getReplication.toInt,
        status.getBlockSize,
        status.getModificationTime,
        status.getPath)
      file.copy(fileStatus = new LocatedFileStatus(bare, blocks.toArray))
    }
}

private[filescan] object FilePlacement {

  /** Spark tells its scheduler no more places of a task, whichever they are. */
  private val MostNamed = 3

  /**
   * Names other executors for each file where several have the pool that it lies in, so that all of
   * them get their part.
   *
   * @param all locations, those of the executors that have the pool first
   * @param sharers how many these are
   * @param file ordinal of the file
   */
  def named(all: Array[String], sharers: Int, file: Int): Array[String] =
    if (sharers < 2 || all.length < sharers) all
    else {
      val (own, others) = all.splitAt(sharers)
      val (later, first) = own.splitAt(file % sharers)
      (first ++ later ++ others).take(MostNamed)
    }
}
