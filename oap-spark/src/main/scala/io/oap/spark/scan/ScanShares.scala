package io.oap.spark.scan

import scala.util.control.NonFatal

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.internal.Logging

import io.oap.spark.directory.{CachedShares, Cluster}
import io.oap.spark.executor.{HeldFiles, Remembered}

/**
 * What part of each column of a scan the pools hold, for EXPLAIN. Spark also asks for it whenever
 * it shows a query in its UI, several times while the query runs; so it is remembered, and only some
 * of the files are looked at when there are many.
 *
 * @param listed files that the scan may read; asked at most once
 */
private[spark] final class ScanShares(
    scan: CachedParquetScan,
    listed: => Seq[FileStatus],
    isCaseSensitive: Boolean)
    extends Logging {

  private val context = scan.sparkSession.sparkContext
  private lazy val shares = {
    val files = ScanShares.sample(listed)
    val columns = scan.readDataSchema.fieldNames.toSeq
    new Remembered[Seq[(String, Double)]](
      () => version,
      () =>
        if (context.isLocal) sharesHere(files, columns)
        else CachedShares.of(Cluster.of(context).directory, files, columns, isCaseSensitive)
    )
  }

  /** The shares as text, as far as they can be told. */
  def text: Option[String] =
    try
      if (scan.readDataSchema.isEmpty) None
      else Some(shares.get.map { case (name, share) =>
        s"$name: ${math.floor(share * 100).toInt} %"
      }.mkString("[", ", ", "]"))
    catch {
      case NonFatal(e) =>
        logDebug("The cached share of a scan cannot be told", e)
        None
    }

  /** By what this process holds, which is all there is in local mode. */
  private def sharesHere(
      files: Seq[FileStatus],
      columns: Seq[String]): Seq[(String, Double)] = {
    val shares = new CachedShares(columns, isCaseSensitive)
    files.foreach { status =>
      HeldFiles.sumsOf(status) match {
        case None => shares.addUnknown(status.getLen)
        case Some(file) =>
          shares.add(
            status.getLen,
            file.leaves.indices.iterator.map(leaf =>
              (file.leaves(leaf), file.leafBytes(leaf), false)))
          file.leaves.indices.foreach(leaf =>
            shares.addHeld(file.leaves(leaf), file.heldBytes(leaf)))
      }
    }
    shares.result
  }

  private def version: Any =
    if (context.isLocal) HeldFiles.version else Cluster.of(context).directory.contentVersion
}

private[spark] object ScanShares {

  private val MostFiles = 1000

  /** Up to that many, spread evenly. */
  private def sample(files: Seq[FileStatus]): Seq[FileStatus] = {
    val step = (files.size + MostFiles - 1) / MostFiles
    if (step <= 1) files else files.indices.by(step).map(files(_))
  }
}
