package io.oap.spark.placement

import io.oap.cache.ColumnCache
import io.oap.spark.SparkRpc

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

/** Answers the driver's requests in an executor; with a number, whose meaning they say. */
private[spark] final class ExecutorService(cache: ColumnCache) extends SparkRpc.Service {

  override def answer(request: Array[Byte], sender: SparkRpc.Peer): Array[Byte] =
    Wire.encode(answer(Wire.decode[ExecutorRequest](request)))

  def answer(request: ExecutorRequest): Long = request match {
    case ForgetFiles(path, left) => forget(path, left.toSet)
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
}

private[spark] object ExecutorService {
  val Name = "oap-executor"
}
