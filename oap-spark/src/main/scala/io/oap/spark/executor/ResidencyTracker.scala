package io.oap.spark.executor

import java.util.{BitSet => Bits}

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import io.oap.cache.file.KnownFiles.KnownFile
import io.oap.cache.pool.PoolSnapshot
import io.oap.common.FileId
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta, ResidencyReply}

/**
 * What the driver was told of this executor's chunks, and how that differs from what its pool holds
 * now. For one thread.
 *
 * @param executor Spark's id of this executor
 * @param pool its pool, as in the report
 * @param known what a file id stands for; chunks of files it does not know are passed over
 * @param filesPerReport bound of one report's size
 * @param bytesPerReport the same in bytes, estimated; a file that takes more has a report of its own
 */
private final class ResidencyTracker(
    executor: String,
    pool: Option[String],
    known: FileId => Option[KnownFile],
    filesPerReport: Int,
    bytesPerReport: Long) {
  import ResidencyTracker._

  private val reported = mutable.HashMap.empty[FileId, Reported]
  private var number = 0L

  /**
   * Tells the driver what has changed, in as many reports as that takes.
   *
   * @param snapshot what the pool holds
   * @param loadBytesPerSecond as in the report
   * @param send sends one report and returns the answer
   * @return whether the driver knows all of it now; else the next call says more or begins anew
   * @throws Exception what `send` throws; the next call begins anew
   */
  def report(
      snapshot: PoolSnapshot,
      capacityBytes: Long,
      usedBytes: Long,
      loadBytesPerSecond: Double = 0)(send: ResidencyDelta => ResidencyReply): Boolean = {
    var isComplete = false
    try {
      isComplete = inReports(changes(snapshot)).forall { part =>
        val delta = ResidencyDelta(
          executor,
          number,
          number + 1,
          part.map(_.delta).toSeq,
          capacityBytes,
          usedBytes,
          loadBytesPerSecond,
          pool)
        take(part, send(delta))
      }
    } finally {
      if (!isComplete) {
        beginAnew()
      }
    }
    isComplete && snapshotIsReported(snapshot)
  }

  /** Forgets what was reported, so that the next report says everything. */
  def beginAnew(): Unit = {
    reported.clear()
    number = 0
  }

  /** At least one, since even without a change the driver is told how full the pool is. */
  private def inReports(changes: Seq[Change]): Iterable[collection.Seq[Change]] = {
    val reports = ArrayBuffer(ArrayBuffer.empty[Change])
    var bytes = 0L
    changes.foreach { change =>
      val more = change.delta.estimatedBytes
      val last = reports.last
      if (last.nonEmpty && (last.size == filesPerReport || bytes + more > bytesPerReport)) {
        reports += ArrayBuffer.empty
        bytes = 0
      }
      reports.last += change
      bytes += more
    }
    reports
  }

  private def take(part: collection.Seq[Change], reply: ResidencyReply): Boolean = {
    if (reply.isAccepted) {
      number += 1
      val refused = reply.withoutLayout.toSet
      part.foreach { change =>
        change.after.filterNot(after => refused(after.key)) match {
          case Some(after) => reported(change.id) = after
          case None => reported.remove(change.id)
        }
      }
    }
    reply.isAccepted
  }

  private def snapshotIsReported(snapshot: PoolSnapshot): Boolean =
    snapshot.chunks.asScala.forall { chunk =>
      reported.contains(chunk.key.file) || known(chunk.key.file).isEmpty
    }

  private def changes(snapshot: PoolSnapshot): Seq[Change] = {
    val held = heldChunks(snapshot)
    // What a list lacks that is not whole is still there, as far as is known.
    if (!snapshot.isWhole)
      for ((id, (_, chunks)) <- held; before <- reported.get(id)) chunks.or(before.chunks)
    val changed = held.iterator.flatMap { case (id, (file, chunks)) => change(id, file, chunks) }
    val gone = reported.iterator.collect {
      case (id, Reported(key, chunks)) if snapshot.isWhole && !held.contains(id) =>
        Change(id, FileDelta(key, None, Array.empty, chunks.toLongArray), None)
    }
    (gone ++ changed).toSeq
  }

  private def change(id: FileId, file: KnownFile, chunks: Bits): Option[Change] =
    reported.get(id) match {
      case Some(before) if before.chunks == chunks => None
      case Some(before) =>
        val delta =
          FileDelta(
            before.key,
            None,
            without(chunks, before.chunks),
            without(before.chunks, chunks))
        Some(Change(id, delta, Some(Reported(before.key, chunks))))
      case None =>
        val key = file.identity.placementKey
        val delta = FileDelta(key, Some(layout(file)), chunks.toLongArray, Array.empty)
        Some(Change(id, delta, Some(Reported(key, chunks))))
    }

  private def without(chunks: Bits, others: Bits): Array[Long] = {
    val rest = chunks.clone().asInstanceOf[Bits]
    rest.andNot(others)
    rest.toLongArray
  }

  private def layout(file: KnownFile): FileLayout =
    FileLayout(file.columns.asScala.toArray, file.starts, file.chunkBytes)

  private def heldChunks(snapshot: PoolSnapshot): mutable.Map[FileId, (KnownFile, Bits)] = {
    val held = mutable.HashMap.empty[FileId, (KnownFile, Bits)]
    snapshot.chunks.forEach { chunk =>
      val id = chunk.key.file
      held.get(id).orElse(known(id).map(file =>
        held.getOrElseUpdate(id, (file, new Bits)))).foreach {
        case (file, chunks) =>
          chunks.set(chunk.key.rowGroup * file.columns.size + chunk.key.column)
      }
    }
    held
  }
}

private object ResidencyTracker {

  /** A file the driver has been told of. */
  private final case class Reported(key: Long, chunks: Bits)

  /** A file's change, and what will have been told of it once the driver has taken it. */
  private final case class Change(id: FileId, delta: FileDelta, after: Option[Reported])
}
