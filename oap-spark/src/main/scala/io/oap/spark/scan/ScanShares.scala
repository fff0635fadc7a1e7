package io.oap.spark.scan

import java.util.concurrent.TimeUnit

import scala.collection.IndexedSeqView
import scala.util.control.NonFatal

import com.google.common.base.Suppliers
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging

import io.oap.common.FileIdentity
import io.oap.spark.cluster.Cluster
import io.oap.spark.directory.CachedShares

/**
 * What part of each column of a scan the pools hold, for EXPLAIN. Spark also asks for it whenever
 * it shows a query in its UI, several times while the query runs; so it is remembered for a second,
 * and only some of the files are looked at when there are many.
 *
 * @param columns top-level columns that the scan reads
 * @param listed placement keys and lengths of files that the scan may read; asked at most once
 * @param inFiles all names that files may have for a column
 */
private[spark] final class ScanShares(
    context: SparkContext,
    columns: Seq[String],
    listed: => IndexedSeqView[(Long, Long)],
    isCaseSensitive: Boolean,
    inFiles: String => Seq[String] = Seq(_))
    extends Logging {

  private lazy val shares = {
    val files = ScanShares.sample(listed)
    val directory = Cluster.of(context).directory
    Suppliers.memoizeWithExpiration[Seq[(String, Double)]](
      () => CachedShares.of(directory, files, columns, isCaseSensitive, inFiles),
      1,
      TimeUnit.SECONDS)
  }

  /** The shares as text, as far as they can be told. */
  def text: Option[String] =
    try
      if (columns.isEmpty) None
      else Some(shares.get.map { case (name, share) =>
        s"$name: ${math.floor(share * 100).toInt} %"
      }.mkString("[", ", ", "]"))
    catch {
      case NonFatal(e) =>
        logDebug("The cached share of a scan cannot be told", e)
        None
    }
}

private[spark] object ScanShares {

  /** Each costs a hash of its path, in the time of the query. */
  private val MostFiles = 200

  /** Placement keys and lengths of files, made for those only that are looked at. */
  def of(files: Seq[FileStatus]): IndexedSeqView[(Long, Long)] =
    files.toIndexedSeq.view.map { file =>
      val key =
        FileIdentity.placementKey(file.getPath.toString, file.getLen, file.getModificationTime)
      key -> file.getLen
    }

  /** Up to that many, spread evenly. */
  private[scan] def sample(files: IndexedSeqView[(Long, Long)]): Seq[(Long, Long)] = {
    val step = (files.size + MostFiles - 1) / MostFiles
    files.indices.by(math.max(step, 1)).map(files(_))
  }
}
