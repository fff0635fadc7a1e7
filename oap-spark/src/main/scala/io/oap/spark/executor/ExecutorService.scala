package io.oap.spark.executor

import java.util.BitSet

import io.oap.cache.ColumnCache
import io.oap.cache.parquet.KnownFiles.KnownFile
import io.oap.common.FileId
import io.oap.spark.rpc.{SparkRpc, Wire}

/** What the driver asks of an executor's cache. */
private[spark] sealed trait ExecutorRequest extends Serializable

/**
 * Files under a path have been removed or written anew: chunks of those that are not there any
 * more are of no use.
 *
 * @param path fully qualified, a folder or a file
 * @param left `FileIdentity.placementKey` of the files that are there now
 */
private[spark] final case class ForgetFiles(path: String, left: Array[Long])
    extends ExecutorRequest

/**
 * Row groups that are read on another executor from now on: what this one holds of them takes room
 * that it needs for its own.
 *
 * @param files `FileIdentity.placementKey` of the file of each row group
 * @param positions any byte of each row group, or one before the first
 */
private[spark] final case class ReleaseRowGroups(files: Array[Long], positions: Array[Long])
    extends ExecutorRequest

/**
 * The driver does not know all that this executor holds, or not any more: the reports begin anew,
 * with all of it.
 */
private[spark] case object ReportAnew extends ExecutorRequest

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

private[spark] object ExecutorService {
  val Name = "oap-executor"
}
