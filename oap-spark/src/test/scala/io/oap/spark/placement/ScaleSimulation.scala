package io.oap.spark.placement

import java.util.BitSet

import scala.util.Random

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

import io.oap.common.FileIdentity
import io.oap.spark.cluster.ExecutorOccupancy
import io.oap.spark.directory.{Directory, DirectoryScan}
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta}
import io.oap.spark.scan.PartitionPlan

/**
 * A Directory filled as a large cluster fills it: files are planned cold, and each executor reports
 * what it was given. Row groups have 23 columns, as TPC-DS's store_sales.
 *
 * @param rowGroups row groups to be cached, each of [[ScaleSimulation.Columns]] chunks
 * @param rowGroupsOfFile divides `rowGroups`
 */
final class ScaleSimulation(
    executors: Int,
    rowGroups: Int,
    rowGroupsOfFile: Int,
    seed: Long) {
  import ScaleSimulation._

  // By which placement keys differ from seed to seed.
  private val writtenMillis = seed * 1000
  private val files = Array.tabulate(rowGroups / rowGroupsOfFile)(n =>
    FileIdentity.placementKey(path(n), FileBytes, writtenMillis))
  private val columns = Array.tabulate(Columns)(c => s"c$c")
  private val ids = Array.tabulate(executors)(_.toString)
  private val poolBytes = MeanChunkBytes.toLong * Columns * rowGroups / executors * 11 / 10
  private val used = new Array[Long](executors)
  private val reports = new Array[Long](executors)
  private val load = new ExecutorOccupancy(() => System.nanoTime(), Long.MaxValue)
  val directory = new Directory(1L << 30)

  for (e <- ids.indices) {
    directory.executorJoined(ids(e), s"host${e / 2}", 8)
    load.executorJoined(ids(e), s"host${e / 2}", 8)
    report(e, Nil, 0)
  }

  /** Plans scans of all columns until all files are cached, each of as many files at most. */
  def fill(filesOfScan: Int): Unit =
    for (some <- files.grouped(filesOfScan)) {
      val scan = directory.scan(columns, isCaseSensitive = true)
      val layouts = some.map(layout)
      val pieces = some.indices.toArray.flatMap(i => piecesOf(scan, some(i), layouts(i)))
      val placed = Placement.place(pieces, scan.executors, PlacementRules())
      val byExecutor = pieces.indices.groupBy(i => scan.executors(placed.executors(i)).id.toInt)
      for ((executor, given) <- byExecutor.toSeq.sortBy(_._1))
        for (part <- given.grouped(FilesOfReport)) {
          val deltas = part.map { i =>
            val held = new BitSet
            val rowGroup = i % rowGroupsOfFile
            held.set(rowGroup * Columns, (rowGroup + 1) * Columns)
            // Every report carries arrays of its own, as those that come over the network.
            FileDelta(pieces(i).file, Some(layout(pieces(i).file)), held.toLongArray, Array.empty)
          }
          report(executor, deltas, part.map(pieces(_).wantedBytes).sum)
        }
    }

  /** Plans a scan of the first files, as a query's planning does, and returns its pieces too. */
  def plan(splits: Int, rules: PlacementRules = PlacementRules()): Plan = {
    val scan = directory.scan(columns.take(WantedColumns), isCaseSensitive = true)
    val pieces = files.take(splits / rowGroupsOfFile).flatMap { file =>
      scan.rowGroups(file) match {
        case Some(views) =>
          views.map(v =>
            PlacementUnit(
              file,
              v.start,
              v.wantedBytes,
              v.holdings,
              scan.home(file, v.start),
              NoHosts))
        case None => piecesOf(scan, file, layout(file))
      }
    }
    val placed = Placement.place(pieces, scan.executors, rules)
    if (rules.usesResidency) scan.settle(pieces, placed)
    new Plan(pieces, placed, scan.executors)
  }

  /**
   * Makes tasks of the first files' splits, as a scan does when it is planned.
   *
   * @param splits as Spark makes them: parts of a file of equal length
   */
  def tasks(splits: Seq[FilePartition]): Array[InputPartition] =
    new PartitionPlan(
      directory,
      load.expectedWaitSeconds,
      (_, _) => (),
      columns.toSeq.take(WantedColumns),
      true,
      PlacementRules(),
      MaxSplitBytes,
      OpenCostBytes).of(splits)

  /** The first files as Spark cuts them. */
  def splits(count: Int): Seq[FilePartition] = IndexedSeq.tabulate(count) { n =>
    val length = FileBytes / rowGroupsOfFile
    val file = PartitionedFile(
      InternalRow.empty,
      SparkPath.fromUrlString(path(n / rowGroupsOfFile)),
      n % rowGroupsOfFile * length,
      length,
      NoHosts,
      modificationTime = writtenMillis,
      fileSize = FileBytes
    )
    FilePartition(n, Array(file))
  }

  private def path(file: Int): String = s"hdfs://cluster/warehouse/store_sales/part-$file.parquet"

  private def piecesOf(scan: DirectoryScan, file: Long, layout: FileLayout): Array[PlacementUnit] =
    Array.tabulate(rowGroupsOfFile) { r =>
      val bytes = layout.chunkBytes.slice(r * Columns, (r + 1) * Columns).map(_.toLong).sum
      PlacementUnit(
        file,
        layout.starts(r),
        bytes,
        Array.empty,
        scan.home(file, layout.starts(r)),
        NoHosts)
    }

  /** Chunks of 1 KiB to a little over 2 MiB, the same for a file each time. */
  private def layout(file: Long): FileLayout = {
    val random = new Random(file)
    val bytes =
      Array.fill(rowGroupsOfFile * Columns)(1024 + random.nextInt(2 * MeanChunkBytes - 2048))
    val starts = bytes.grouped(Columns).map(_.map(_.toLong).sum).scanLeft(4L)(_ + _)
    FileLayout(columns.clone(), starts.take(rowGroupsOfFile).toArray, bytes)
  }

  private def report(executor: Int, files: Seq[FileDelta], bytes: Long): Unit = {
    used(executor) += bytes
    val from = reports(executor)
    reports(executor) += 1
    val delta =
      ResidencyDelta(ids(executor), from, from + 1, files, poolBytes, used(executor))
    if (!directory.accept(delta).isAccepted) throw new IllegalStateException(s"report of $executor")
  }

}

object ScaleSimulation {
  val Columns = 23
  private val WantedColumns = 8
  private val MeanChunkBytes = 1 << 20
  private val FilesOfReport = 100

  // Of four row groups at most; what a file has beyond its row groups does not matter.
  private val FileBytes = 4L * Columns * 2 * MeanChunkBytes
  private val MaxSplitBytes = 128L << 20
  private val OpenCostBytes = 4L << 20
  private val NoHosts = Array.empty[String]

  /** A scan's pieces and where they are placed. */
  final class Plan(
      val pieces: Array[PlacementUnit],
      placed: Assignment,
      executors: Array[LiveExecutor]) {

    /** Id of the executor of each piece. */
    val places: Array[String] = placed.executors.map(executors(_).id)

    /** Most wanted bytes of an executor over the mean. */
    def imbalance: Double = {
      val bytes = new Array[Double](executors.length)
      for (i <- pieces.indices) bytes(placed.executors(i)) += pieces(i).wantedBytes.toDouble
      bytes.max / (bytes.sum / bytes.length)
    }
  }
}
