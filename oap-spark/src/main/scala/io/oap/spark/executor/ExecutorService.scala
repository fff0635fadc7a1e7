package io.oap.spark.executor

import java.util.{Arrays, BitSet}
import java.util.concurrent.{Executor, SynchronousQueue, ThreadPoolExecutor, TimeUnit}

import com.google.common.util.concurrent.ThreadFactoryBuilder
import org.apache.spark.SparkEnv

import io.oap.cache.ColumnCache
import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.common.FileId
import io.oap.spark.rpc.{ServiceNames, SparkRpc, Wire}

/**
 * Answers the driver's requests in an executor, each on a thread of its own: one that takes long,
 * as [[Verify]] does, keeps none waiting, and no request waits for a slot of the executor's tasks.
 */
private[spark] object ExecutorService {
  private val MostAtATime = 8

  private val threads: Executor = new ThreadPoolExecutor(
    0,
    MostAtATime,
    10,
    TimeUnit.SECONDS,
    new SynchronousQueue[Runnable],
    new ThreadFactoryBuilder().setDaemon(true).setNameFormat("oap-request-%d").build())

  /** Why an executor has nothing to do anything with. */
  val NotUsed = "no task has used the column cache there yet"

  /**
   * Begins to answer in this process; once for each application.
   *
   * @return where the driver can ask
   */
  def serve(environment: SparkEnv): SparkRpc.Peer = SparkRpc.serve(
    environment,
    ServiceNames.Executor,
    threads,
    (request, _) => Wire.encode(answer(Wire.decode[ExecutorRequest[_]](request))))

  /** Returns the answer, or why there is no pool that it could be about. */
  def answer(request: ExecutorRequest[_]): Either[String, Any] =
    (request, ExecutorCache.ifOpened) match {
      case (TellFigures, _) => Right(ThisExecutor.answer())
      case (ReportAnew, _) => Right(ExecutorCache.reportAnew())
      case (Resize(bytes), _) => Right(ExecutorCommands.resize(bytes))
      case (_, Some(Right(cache))) => Right(answer(request, cache))
      case (_, Some(Left(reason))) => Left(s"the column cache is off there: $reason")
      case (_, None) =>
        // A pool of the application before this one may be taken over.
        if (request == Clear(None)) ExecutorCache.clear()
        Left(NotUsed)
    }

  private def answer(request: ExecutorRequest[_], cache: ColumnCache): Any = request match {
    case TellPool => cache.poolStats
    case ListChunks(part) => HeldFiles.of(cache, part)
    case Clear(paths) => ExecutorCommands.clear(cache, paths)
    case ListKnown(path) =>
      cache.files.under(path).values.stream.mapToLong(_.identity.placementKey).toArray
    case ForgetFiles(path, gone) => forget(cache, path, gone.sorted)
    case ReleaseRowGroups(files, positions) =>
      release(cache, files.zip(positions).groupMap(_._1)(_._2))
    case LeaveFirst(paths) => leaveFirst(cache, paths)
    case TellHottest(bytes, most) => HottestRowGroups.of(cache, bytes, most)
    case deal: HandOver => Outgoing.begin(cache, deal)
    case NextPart(number, last, refusing) => Outgoing.next(number, last, refusing)
    case EndHandOver(number, last) => Outgoing.end(number, last)
    case TakePart(part, before) => Outgoing.take(cache, part, before)
    case Pin(paths, columns) => ExecutorCommands.pin(cache, paths, columns)
    case Unpin(paths, columns) => ExecutorCommands.unpin(cache, paths, columns)
    case Verify(part) => ExecutorCommands.verify(cache, part)
    case TellFigures | ReportAnew | Resize(_) =>
      throw new IllegalArgumentException(request.toString)
  }

  private def forget(cache: ColumnCache, path: String, gone: Array[Long]): Long =
    cache.files
      .under(path)
      .entrySet
      .stream
      .filter(entry => Arrays.binarySearch(gone, entry.getValue.identity.placementKey) >= 0)
      .mapToLong(entry => cache.drop(entry.getKey))
      .sum

  private def leaveFirst(cache: ColumnCache, paths: Set[String]): Int = {
    val files = cache.files.where(file => paths(file.identity.path)).keySet
    cache.leaveFirst(files)
    files.size
  }

  private def release(cache: ColumnCache, positions: Map[Long, Array[Long]]): Long = {
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
