package io.oap.spark.executor

import java.util.BitSet

import io.oap.cache.ColumnCache
import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.common.FileId
import io.oap.spark.rpc.{ExecutorRequest, ForgetFiles, ReleaseRowGroups, ReportAnew, SparkRpc, Wire}

/**
 * Answers the driver's requests in an executor; with a number, whose meaning they say.
 *
 * @param reportAnew has the reports begin anew; must not block
 */
private[spark] final class ExecutorService(cache: ColumnCache, reportAnew: () => Unit)
    extends SparkRpc.Service {

  override def answer(request: Array[Byte], sender: SparkRpc.Peer): Array[Byte] =
    Wire.encode(answer(Wire.decode[ExecutorRequest](request)))

  def answer(request: ExecutorRequest): Long = request match {
    case ForgetFiles(path, left) => forget(path, left.toSet)
    case ReleaseRowGroups(files, positions) => release(files.zip(positions).groupMap(_._1)(_._2))
    case ReportAnew =>
      reportAnew()
      0
  }

  /** Returns how many chunks were dropped. */
  private def forget(path: String, left: Set[Long]): Long =
    cache.files
      .under(path)
      .entrySet
      .stream
      .filter(entry => !left(entry.getValue.identity.placementKey))
      .mapToLong(entry => cache.drop(entry.getKey))
      .sum

  /** Returns how many chunks were dropped. */
  private def release(positions: Map[Long, Array[Long]]): Long = {
    val rowGroups = new java.util.HashMap[FileId, BitSet]
    cache.files
      .where(file => positions.contains(file.identity.placementKey))
      .forEach { (id, file) =>
        val numbers = new BitSet
        positions(file.identity.placementKey).foreach(at => numbers.set(rowGroupAt(file, at)))
        rowGroups.put(id, numbers)
      }
    cache.drop(rowGroups)
  }

  /** The last one that begins no later; the first one takes what is before it. */
  private def rowGroupAt(file: KnownFile, position: Long): Int =
    math.max(0, file.starts.lastIndexWhere(_ <= position))
}
