package io.oap.spark.scan

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.internal.SQLConf

import io.oap.common.FileIdentity
import io.oap.spark.cluster.Cluster
import io.oap.spark.directory.Directory
import io.oap.spark.executor.{ExecutorRequest, ReportAnew}
import io.oap.spark.placement.{Holding, Placement, PlacementRules, PlacementUnit, RowGroupView}
import io.oap.spark.read.PlacedPartition

/**
 * Divides the files of a scan among the executors and into tasks.
 *
 * It starts from the splits that Spark has made. Where the Directory knows a file's row groups,
 * splits follow these instead: Spark's cuts fall anywhere, and a row group is read by whose split
 * its middle lies in. Small pieces for the same executor are packed into one task.
 *
 * @param waitSeconds how much longer than on the executor that is free first a task is expected to
 *     wait on the one of this id; asked now and again when a stage is submitted
 * @param tell sends a request to the executor of this id, if it can be reached; must not block
 * @param columns top-level columns the scan reads
 * @param taskBytes what is packed into one task at most
 * @param openCostBytes what opening a file costs, as bytes that could be read meanwhile
 */
private[spark] final class PartitionPlan(
    directory: Directory,
    waitSeconds: String => Double,
    tell: (String, ExecutorRequest[_]) => Unit,
    columns: Seq[String],
    isCaseSensitive: Boolean,
    rules: PlacementRules,
    taskBytes: Long,
    openCostBytes: Long) {
  import PartitionPlan._

  private val scan = directory.scan(columns, isCaseSensitive)
  private val executors = scan.executors.map(_.waiting(waitSeconds))

  /** Returns the same files as partitions that know where they belong. */
  def of(partitions: Seq[FilePartition]): Array[InputPartition] = {
    val ranges = filesOf(partitions).flatMap(rangesOf).toArray
    val pieces = ranges.map(_.piece)
    val placed = Placement.place(pieces, executors, rules, scan.expectedRoomBytes)
    if (rules.usesResidency) {
      scan.settle(pieces, placed)
      scan.uselessCopies(pieces, placed).foreach { case (id, copies) => tell(id, copies) }
      scan.snapshotsToAsk().foreach(tell(_, ReportAnew))
    }
    val shares = ranges.indices.groupBy(i =>
      Role(placed.executors(i), placed.alternatives(i), placed.isGuest(i))).toSeq
    val tasks = shares.sortBy(_._1).flatMap { case (role, share) =>
      TaskSize.packed(share.map(ranges(_)), cost, taskBytes).map(new Task(role, _))
    }
    // An executor takes its tasks in this order: first those that no other may take.
    tasks
      .sortBy(task => (task.role.alternatives.nonEmpty, -task.fileBytes))
      .zipWithIndex
      .map { case (task, index) => partition(index, task, placed.bearableWaitSeconds) }
      .toArray[InputPartition]
  }

  private def cost(range: Range): Long = range.file.length + openCostBytes

  /** The splits of each file, in order. */
  private def filesOf(partitions: Seq[FilePartition]): Iterable[Seq[PartitionedFile]] = {
    val files = mutable.LinkedHashMap.empty[String, ArrayBuffer[PartitionedFile]]
    partitions.foreach(_.files.foreach { split =>
      files.getOrElseUpdate(split.urlEncodedPath, ArrayBuffer.empty) += split
    })
    files.values.map(_.sortBy(_.start).toSeq)
  }

  private def rangesOf(splits: Seq[PartitionedFile]): Seq[Range] = {
    val file = splits.head
    val key =
      FileIdentity.placementKey(file.toPath.toString, file.fileSize, file.modificationTime)
    // A file that is listed twice, or in parts, is left as it is.
    val isWhole = splits.map(_.length).sum == file.fileSize &&
      splits.tail.zip(splits).forall { case (next, last) => next.start == last.start + last.length }
    val rowGroups = if (isWhole) scan.rowGroups(key).filter(isAscending) else None
    rowGroups match {
      case Some(groups) =>
        groups.indices.map { i =>
          val start = if (i == 0) 0 else groups(i).start
          val end = if (i == groups.length - 1) file.fileSize else groups(i + 1).start
          val hosts =
            splits.find(_.start + splits.head.length > start).fold(file)(identity).locations
          Range(
            file.copy(start = start, length = end - start, locations = hosts),
            piece(key, start, groups(i).wantedBytes, groups(i).holdings, hosts))
        }
      case None =>
        splits.map(split =>
          Range(split, piece(key, split.start, split.length, Array.empty, split.locations)))
    }
  }

  private def isAscending(groups: Array[RowGroupView]): Boolean =
    groups.nonEmpty && groups.tail.zip(groups).forall { case (next, last) =>
      last.start < next.start
    }

  private def piece(
      key: Long,
      start: Long,
      bytes: Long,
      holdings: Array[Holding],
      hosts: Array[String]): PlacementUnit =
    PlacementUnit(key, start, bytes, holdings, scan.home(key, start), hosts)

  /**
   * A task waits for as long as reading anew what it wants takes, or as the other executors have
   * work of this scan. It is said again when the stage is submitted, which may be much later. Of
   * several executors one that need not be waited for is enough: the busy ones may be done long
   * before the stage is, and would get nothing of it if they were not named.
   */
  private def partition(index: Int, task: Task, bearableWaitSeconds: Double): InputPartition = {
    val isCold = task.ranges.forall(_.piece.holdings.isEmpty)
    val wantedBytes = task.ranges.iterator.map(_.piece.wantedBytes).sum
    val longestWait = math.max(wantedBytes / rules.loadBytesPerSecond, bearableWaitSeconds)
    val first = executors.lift(task.role.executor).toSeq.flatMap(_.members)
    val others = task.role.alternatives.flatMap(executors(_).members)
    val named = first ++ others
    def locations =
      if (named.exists(e => waitSeconds(e.id) <= longestWait))
        named.map(_.location)
      else Nil
    new PlacedPartition(
      index,
      joined(task.ranges.map(_.file)),
      first.map(_.id).toArray,
      others.map(_.id).toArray,
      task.role.isGuest,
      isCold,
      () => locations)
  }

  /** Ranges that follow each other in a file of a partition as one. */
  private def joined(files: Seq[PartitionedFile]): Array[PartitionedFile] = {
    val all = ArrayBuffer.empty[PartitionedFile]
    files.foreach { next =>
      all.lastOption match {
        case Some(last)
            if last.start + last.length == next.start &&
              last.urlEncodedPath == next.urlEncodedPath &&
              last.partitionValues == next.partitionValues =>
          all(all.size - 1) = last.copy(length = last.length + next.length)
        case _ => all += next
      }
    }
    all.toArray
  }
}

private[spark] object PartitionPlan {

  /** A plan for the executors of an application. */
  def of(
      context: SparkContext,
      conf: SQLConf,
      columns: Seq[String],
      rules: PlacementRules,
      taskBytes: Long): PartitionPlan = {
    val cluster = Cluster.of(context)
    new PartitionPlan(
      cluster.directory,
      cluster.load.expectedWaitSeconds,
      cluster.tell,
      columns,
      conf.caseSensitiveAnalysis,
      cluster.directory.measured(rules),
      taskBytes,
      conf.filesOpenCostInBytes
    )
  }

  /** A range of a file, and the same as Placement sees it. */
  private final case class Range(file: PartitionedFile, piece: PlacementUnit)

  /** What [[Assignment]] says of a piece. */
  private final case class Role(executor: Int, alternatives: Seq[Int], isGuest: Boolean)

  /** Ranges that are read together. */
  private final class Task(val role: Role, val ranges: Seq[Range]) {
    // Compared often when tasks are put in order, hence no method.
    val fileBytes: Long = ranges.iterator.map(_.file.length).sum
  }

  private implicit val roles: Ordering[Role] = {
    import scala.math.Ordering.Implicits.seqOrdering
    Ordering.by(role => (role.executor, role.alternatives, role.isGuest))
  }
}
