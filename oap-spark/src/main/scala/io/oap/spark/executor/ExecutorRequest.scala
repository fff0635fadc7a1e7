package io.oap.spark.executor

import io.oap.cache.pool.PoolStats
import io.oap.common.FileId
import io.oap.spark.rpc.{BlockTransfer, ResidencyDelta, ResidencyReply}
import io.oap.spark.status.ToldFigures
import io.oap.spark.table.PinnedColumns

/**
 * What an executor tells the driver. It is sent from one thread, so that reports arrive in order.
 *
 * @param executor Spark's id of the executor
 * @param figures what its cache is and has done, where that has changed and the driver may be told
 * @param residency what its pool has taken in and given up, where anything has changed
 */
private[spark] final case class Report(
    executor: String,
    figures: Option[ToldFigures],
    residency: Option[ResidencyDelta])

/**
 * The driver's answer.
 *
 * @param pauseMillis the least time until the executor reports figures again
 */
private[spark] final case class ReportReply(residency: Option[ResidencyReply], pauseMillis: Long)

/** What the driver asks of an executor, which answers with an `A`. */
private[spark] sealed trait ExecutorRequest[A] extends Serializable

/** Asks for the figures as of now. */
private[spark] case object TellFigures extends ExecutorRequest[ToldFigures]

/** Asks for all figures of the pool as of now. */
private[spark] case object TellPool extends ExecutorRequest[PoolStats]

/**
 * The driver does not know all that this executor holds, or not any more: the reports begin anew,
 * with all of it.
 */
private[spark] case object ReportAnew extends ExecutorRequest[Unit]

/**
 * Some of the files of which an executor holds chunks: what is asked about them takes a message or
 * a time of bounded size. All parts together are all files.
 *
 * @param number from 0 on, less than `of`
 */
private[spark] final case class Part(number: Int, of: Int) {
  def has(file: FileId): Boolean = Math.floorMod(file.hashCode, of) == number
}

/** Asks for the chunks of some files. */
private[spark] final case class ListChunks(part: Part) extends ExecutorRequest[Seq[HeldFile]]

/** Compares the chunks of some files with their checksums, and drops those that differ. */
private[spark] final case class Verify(part: Part) extends ExecutorRequest[Checked]

/**
 * Drops chunks.
 *
 * @param paths files and folders, fully qualified; nothing stands for all that there is
 */
private[spark] final case class Clear(paths: Option[Seq[String]]) extends ExecutorRequest[Dropped]

/**
 * Asks which files under a path the executor may hold something of, by `FileIdentity.placementKey`.
 *
 * @param path fully qualified, a folder or a file
 */
private[spark] final case class ListKnown(path: String) extends ExecutorRequest[Array[Long]]

/**
 * Files under a path have been removed or written anew: their chunks are of no use any more. The
 * answer is how many were dropped.
 *
 * @param path fully qualified, a folder or a file
 * @param gone `FileIdentity.placementKey` of files that are not there any more
 */
private[spark] final case class ForgetFiles(path: String, gone: Array[Long])
    extends ExecutorRequest[Long]

/**
 * Row groups that are read on another executor from now on: what this one holds of them takes room
 * that it needs for its own. The answer is how many chunks were dropped.
 *
 * @param files `FileIdentity.placementKey` of the file of each row group
 * @param positions any byte of each row group, or one before the first
 */
private[spark] final case class ReleaseRowGroups(files: Array[Long], positions: Array[Long])
    extends ExecutorRequest[Long]

/**
 * Tables have moved on, and only former snapshots have these files: their chunks leave first. The
 * answer is how many of the files are known.
 *
 * @param paths the files, as they are called when they are read
 */
private[spark] final case class LeaveFirst(paths: Set[String]) extends ExecutorRequest[Int]

/** Gives the pool another capacity. Opens the pool where the executor can be asked before a task. */
private[spark] final case class Resize(bytes: Long) extends ExecutorRequest[Resized]

/**
 * Asks which row groups of the pool are asked for most.
 *
 * @param bytes no more than these together, in the pool
 * @param most no more than so many
 */
private[spark] final case class TellHottest(bytes: Long, most: Int)
    extends ExecutorRequest[HotRowGroups]

/**
 * Row groups of which a pool holds something, first those that are asked for most.
 *
 * @param files `FileIdentity.placementKey` of the file of each
 * @param rowGroups their ordinals
 * @param bytes of the chunks that the pool holds of each
 * @param asks how often they were asked for, a chunk on the average; pinned ones count as the most
 *     there is
 * @param bytesByAsks bytes of all chunks of the pool, told or not, by how often they were asked
 *     for; the last one is of those that were asked for as often or more often, or are pinned
 */
private[spark] final case class HotRowGroups(
    files: Array[Long],
    rowGroups: Array[Int],
    bytes: Array[Long],
    asks: Array[Double],
    bytesByAsks: Array[Long]) {

  /** Bytes of the chunks of the pool that were asked for so often or more often, or are pinned. */
  def bytesAskedFor(least: Double): Long = {
    val last = bytesByAsks.length - 1
    var (sum, asks) = (bytesByAsks(last), last - 1)
    while (asks >= 0 && asks >= least) {
      sum += bytesByAsks(asks)
      asks -= 1
    }
    sum
  }
}

/**
 * Others are to copy some of what the executor holds, because it is to leave, they have come late,
 * or it may be lost: parts of it wait for [[NextPart]] from now on.
 *
 * @param receivers ids of other executors
 * @param files `FileIdentity.placementKey` of the file of each row group
 * @param rowGroups their ordinals
 * @param to which of the receivers each belongs to from now on
 */
private[spark] final case class HandOver(
    receivers: Array[String],
    files: Array[Long],
    rowGroups: Array[Int],
    to: Array[Int])
    extends ExecutorRequest[BegunHandOver]

/**
 * What an executor is to hand over.
 *
 * @param number tells it from other hand-overs of this executor
 * @param bytes of all that waits
 */
private[spark] final case class BegunHandOver(number: Long, bytes: Long)

/**
 * Some of the chunks that an executor hands over.
 *
 * @param to id of the executor that is to have them
 * @param offer where it fetches them
 */
private[spark] final case class HandedPart(to: String, offer: BlockTransfer.Offer)

/**
 * Asks for the next part of a hand-over, the one that is worth most; nothing when all are out.
 *
 * @param number of the hand-over
 * @param last the part before, which nobody is going to fetch any more
 * @param refusing who has taken nothing of a part, and gets no more
 */
private[spark] final case class NextPart(
    number: Long,
    last: Option[HandedPart],
    refusing: Option[String])
    extends ExecutorRequest[Option[HandedPart]]

/**
 * The time of a hand-over is over: what still waits of it is forgotten.
 *
 * @param number of the hand-over
 * @param last the part before, which nobody is going to fetch any more
 */
private[spark] final case class EndHandOver(number: Long, last: HandedPart)
    extends ExecutorRequest[Unit]

/**
 * Takes a part into the pool, in place of what is worth less there; the answer is how many bytes
 * were taken.
 *
 * @param before bytes of the parts that came before it of the same hand-over and were taken
 */
private[spark] final case class TakePart(part: HandedPart, before: Long)
    extends ExecutorRequest[Long]

/** Keeps the chunks of columns of the files there. */
private[spark] final case class Pin(paths: Seq[String], columns: PinnedColumns)
    extends ExecutorRequest[Pinned]

/** Lets the chunks of columns of the files there go. */
private[spark] final case class Unpin(paths: Seq[String], columns: PinnedColumns)
    extends ExecutorRequest[Dropped]

/** What an executor has dropped. */
private[spark] final case class Dropped(chunks: Long, bytes: Long) {
  def +(that: Dropped): Dropped = Dropped(chunks + that.chunks, bytes + that.bytes)
}

/**
 * What came of a new capacity.
 *
 * @param capacityBytes capacity of the pool now, if there is one
 * @param why why it is as before
 * @param warning of memory that is too small for it
 */
private[spark] final case class Resized(
    capacityBytes: Option[Long],
    why: Option[String],
    warning: Option[String] = None)

/** What an executor has pinned, and what not. */
private[spark] final case class Pinned(
    chunks: Long,
    bytes: Long,
    refusedChunks: Long,
    refusedBytes: Long) {
  def why: Option[String] =
    if (refusedChunks == 0) None else Some("no more than half of a pool may be pinned")

  def +(that: Pinned): Pinned = Pinned(
    chunks + that.chunks,
    bytes + that.bytes,
    refusedChunks + that.refusedChunks,
    refusedBytes + that.refusedBytes)
}

/** What came of comparing chunks with their checksums. */
private[spark] final case class Checked(
    chunks: Long,
    bytes: Long,
    damagedChunks: Long,
    damagedBytes: Long) {
  def +(that: Checked): Checked = Checked(
    chunks + that.chunks,
    bytes + that.bytes,
    damagedChunks + that.damagedChunks,
    damagedBytes + that.damagedBytes)
}
