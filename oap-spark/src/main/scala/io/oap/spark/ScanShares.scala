package io.oap.spark

import scala.util.control.NonFatal

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.internal.Logging

import io.oap.spark.placement.{CachedShares, Cluster}
import io.oap.spark.status.HeldFiles

/**
 * What part of each column of a scan the pools hold, for EXPLAIN. Spark also asks for it when it
 * shows a query in its UI, so only some of the files are looked at when there are many.
 */
private object ScanShares extends Logging {

  private val MostFiles = 1000

  /** Up to that many, spread evenly. */
  def sample(files: Seq[FileStatus]): Seq[FileStatus] = {
    val step = (files.size + MostFiles - 1) / MostFiles
    if (step <= 1) files else files.indices.by(step).map(files(_))
  }

  /** The shares as text, as far as they can be told. */
  def text(
      scan: CachedParquetScan,
      files: => Seq[FileStatus],
      isCaseSensitive: Boolean): Option[String] =
    try {
      val columns = scan.readDataSchema.fieldNames.toSeq
      if (columns.isEmpty) None
      else Some(shares(scan, files, columns, isCaseSensitive).map { case (name, share) =>
        s"$name: ${math.floor(share * 100).toInt} %"
      }.mkString("[", ", ", "]"))
    } catch {
      case NonFatal(e) =>
        logDebug("The cached share of a scan cannot be told", e)
        None
    }

  private def shares(
      scan: CachedParquetScan,
      files: Seq[FileStatus],
      columns: Seq[String],
      isCaseSensitive: Boolean): Seq[(String, Double)] = {
    val context = scan.sparkSession.sparkContext
    if (context.isLocal) HeldFiles.shares(files, columns, isCaseSensitive)
    else CachedShares.of(Cluster.of(context).directory, files, columns, isCaseSensitive)
  }
}
