package io.oap.spark.placement

import scala.collection.mutable
import scala.util.Random

import io.oap.spark.directory.{Directory, DirectoryScan}
import io.oap.spark.executor.ReleaseRowGroups
import io.oap.spark.rpc.FileLayout

/** A table of Parquet files, the layouts by file key. */
final class SimulatedTable(val layouts: Map[Long, FileLayout]) {
  val files: Array[Long] = layouts.keys.toArray.sorted

  def bytes(chunk: SimulatedChunk): Int = layouts(chunk.file).chunkBytes(chunk.number)
}

object SimulatedTable {

  /** Columns of very different widths, row groups of different numbers of rows. */
  def apply(files: Int, rowGroups: Int, columns: Int, random: Random): SimulatedTable = {
    val names = Array.tabulate(columns)(c => s"c$c")
    val widths = Array.fill(columns)(math.exp(random.nextDouble() * 4) * 1e4)
    new SimulatedTable(Array
      .fill(files) {
        val sizes = Array.fill(rowGroups)(0.5 + random.nextDouble())
        val bytes = sizes.flatMap(s => widths.map(w => (w * s).toInt))
        val starts = bytes.grouped(columns).map(_.map(_.toLong).sum).scanLeft(4L)(_ + _)
        random.nextLong() -> FileLayout(names, starts.take(rowGroups).toArray, bytes)
      }
      .toMap)
  }
}

/** What a query reads: columns of some files. */
final case class SimulatedQuery(columns: Seq[Int], files: Array[Long])

object SimulatedQuery {

  /** Nine queries with columns of their own: of all files, of a range of them, or of any. */
  def nine(table: SimulatedTable, columns: Int, random: Random): Seq[SimulatedQuery] = {
    val half = table.files.length / 2
    Seq.tabulate(9) { query =>
      val some = random.shuffle((0 until columns).toList).take(4 + random.nextInt(5)).sorted
      val first = random.nextInt(half)
      val files = query % 3 match {
        case 0 => table.files
        case 1 => table.files.slice(first, first + half)
        case _ => table.files.filter(_ => random.nextInt(3) > 0)
      }
      SimulatedQuery(some, files)
    }
  }

  /** Encoded bytes of the chunks that some queries need, each once. */
  def neededBytes(table: SimulatedTable, queries: Seq[SimulatedQuery]): Long =
    queries.flatMap(chunks(table, _)).distinct.map(table.bytes(_).toLong).sum

  def chunks(table: SimulatedTable, query: SimulatedQuery): Seq[SimulatedChunk] = for {
    file <- query.files.toSeq
    layout = table.layouts(file)
    rowGroup <- layout.starts.indices
    column <- query.columns
  } yield SimulatedChunk(file, rowGroup * layout.columns.length + column)
}

/** What a round of queries came to. */
final case class Round(wantedBytes: Long, hitBytes: Long) {
  def hitRatio: Double = hitBytes.toDouble / wantedBytes
  def missedBytes: Long = wantedBytes - hitBytes
}

/**
 * Executors with pools, a Directory and a table: queries run as they are placed.
 *
 * @param reportEvery reports are made after so many queries
 */
final class SimulatedCluster(
    table: SimulatedTable,
    poolBytes: Long,
    rules: PlacementRules,
    reportEvery: Int = 1) {
  private val clock = new java.util.concurrent.atomic.AtomicLong
  val directory = new Directory(256L << 20, () => clock.get)
  val pools = mutable.LinkedHashMap.empty[String, SimulatedPool]
  private val anywhere = new Random(1)
  private var queries = 0

  def join(id: String): Unit = {
    pools(id) = new SimulatedPool(id, poolBytes)
    directory.executorJoined(id, s"host$id", 4)
    pools(id).report(directory, table.layouts)
  }

  def lose(id: String): Unit = {
    pools.remove(id)
    directory.executorLost(id)
  }

  def run(round: Seq[SimulatedQuery]): Round = {
    val parts = round.map(run)
    Round(parts.map(_.wantedBytes).sum, parts.map(_.hitBytes).sum)
  }

  private def run(query: SimulatedQuery): Round = {
    val scan = directory.scan(query.columns.map(c => s"c$c"), isCaseSensitive = true)
    val parts = query.files.flatMap(file => piecesOf(scan, query, file))
    val pieces = parts.map(_._1)
    val placed = Placement.place(pieces, scan.executors, rules, scan.expectedRoomBytes)
    scan.settle(pieces, placed)
    var wanted, hit = 0L
    for (i <- pieces.indices; rowGroup <- parts(i)._2) {
      val pool = pools(whereItRuns(scan, placed.executors(i)))
      val layout = table.layouts(pieces(i).file)
      for (column <- query.columns) {
        val chunk = rowGroup * layout.columns.length + column
        val bytes = layout.chunkBytes(chunk)
        wanted += bytes
        if (pool.read(SimulatedChunk(pieces(i).file, chunk), bytes, placed.isGuest(i))) hit += bytes
      }
    }
    for ((executor, copies) <- scan.uselessCopies(pieces, placed)) release(pools(executor), copies)
    queries += 1
    clock.addAndGet(1000000000L)
    if (queries % reportEvery == 0) pools.values.foreach(_.report(directory, table.layouts))
    Round(wanted, hit)
  }

  private def release(pool: SimulatedPool, copies: ReleaseRowGroups): Unit =
    for ((file, position) <- copies.files.zip(copies.positions)) {
      val layout = table.layouts(file)
      val columns = layout.columns.length
      val first = layout.starts.indexOf(position) * columns
      for (chunk <- first until first + columns) pool.drop(SimulatedChunk(file, chunk))
    }

  /** Where it is placed, or anywhere. */
  private def whereItRuns(scan: DirectoryScan, executor: Int): String =
    if (executor >= 0) scan.executors(executor).id
    else pools.keys.toSeq(anywhere.nextInt(pools.size))

  /** Share of the cached bytes that a second executor holds too. */
  def heldTwice: Double = {
    val totals = directory.totals()
    totals.heldTwiceBytes.toDouble / totals.heldBytes
  }

  /** Most cached bytes of an executor over the mean. */
  def imbalance: Double = {
    val used = pools.values.map(_.usedBytes.toDouble)
    used.max / (used.sum / used.size)
  }

  /** Pieces with the row groups in them: the whole file, all its columns, while nobody knows it. */
  private def piecesOf(
      scan: DirectoryScan,
      query: SimulatedQuery,
      file: Long): Seq[(PlacementUnit, Seq[Int])] = {
    val layout = table.layouts(file)
    scan.rowGroups(file) match {
      case Some(views) =>
        views.toSeq.zipWithIndex.map { case (view, n) =>
          val home = scan.home(file, view.start)
          PlacementUnit(
            file,
            view.start,
            view.wantedBytes,
            view.holdings,
            home,
            Array.empty[String]) -> Seq(n)
        }
      case None =>
        val length = layout.starts(0) + layout.chunkBytes.map(_.toLong).sum
        val home = scan.home(file, 0)
        Seq(
          PlacementUnit(
            file,
            0,
            length,
            Array.empty,
            home,
            Array.empty[String]) -> layout.starts.indices)
    }
  }
}
