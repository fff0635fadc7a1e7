package io.oap.spark.sql

import java.util.{BitSet, IdentityHashMap}

import scala.collection.mutable

import io.oap.spark.executor.HeldFile
import io.oap.spark.table.TablesRead

/** What executors hold of some files, together; see the columns of [[ResidencyTables]]. */
private final class HeldSum {
  private[sql] val holders = new BitSet
  private[sql] var heldOnce, inAll = 0L
  var files = 0
  var chunks, encodedBytes, vectorBytes = 0L

  /** Bytes of pool, by top-level column. */
  val bytesByColumn = mutable.HashMap.empty[String, Long]

  def executors: Int = holders.cardinality

  /**
   * What part of something is held, from 0 to 1.
   *
   * @param part what part of it the files are. Others are taken to be, by their lengths, as these
   */
  def share(part: Double): Double = if (inAll == 0) 0.0 else part * heldOnce / inAll
}

/**
 * Sums up what executors hold, file by file as their answers arrive, so that these need not be kept.
 * Of each file stays which of its chunks have been seen, a bit for each.
 *
 * @param groupOf into which sum goes what is held of a column, by its name, of a file
 */
private final class HeldSums[K](groupOf: HeldFile => String => K) {
  private val sums = mutable.HashMap.empty[K, HeldSum]
  private val files = mutable.HashMap.empty[(String, Long, Long, String), FileSeen]
  private val executors = mutable.HashMap.empty[String, Int]
  private val names = mutable.HashMap.empty[String, String]

  /**
   * @param chunks by row group and leaf
   * @param counted leaves whose sums have counted the file; the first leaf stands for all of a sum
   */
  private final class FileSeen(val chunks: BitSet = new BitSet, val counted: BitSet = new BitSet)

  /** Takes in what one executor holds of a file; returns whether it is the first to hold any. */
  def add(executor: String, file: HeldFile): Boolean = {
    val holder = executors.getOrElseUpdate(executor, executors.size)
    val group = groupOf(file)
    val columns = file.leaves.map(name => names.getOrElseUpdate(name, name))
    val sumOf = columns.map(column => sums.getOrElseUpdate(group(column), new HeldSum))
    val isNew = !files.contains(file.identity)
    if (isNew) sumOf.indices.foreach(leaf => sumOf(leaf).inAll += file.leafBytes(leaf))
    val seen = files.getOrElseUpdate(file.identity, new FileSeen)
    val firstLeaf = new IdentityHashMap[HeldSum, Int]
    for (leaf <- sumOf.indices.reverse) firstLeaf.put(sumOf(leaf), leaf)
    for (chunk <- file.chunks) {
      val sum = sumOf(chunk.leaf)
      sum.holders.set(holder)
      sum.chunks += 1
      if (chunk.isVector) sum.vectorBytes += chunk.bytes else sum.encodedBytes += chunk.bytes
      val column = columns(chunk.leaf)
      sum.bytesByColumn(column) = sum.bytesByColumn.getOrElse(column, 0L) + chunk.bytes
      if (isFirst(seen.chunks, chunk.rowGroup * columns.length + chunk.leaf))
        sum.heldOnce += chunk.encodedBytes
      if (isFirst(seen.counted, firstLeaf.get(sum))) sum.files += 1
    }
    isNew
  }

  private def isFirst(seen: BitSet, number: Int): Boolean = {
    val isFirst = !seen.get(number)
    seen.set(number)
    isFirst
  }

  /** Sums of which anything is held. */
  def result: Map[K, HeldSum] = sums.filter(_._2.chunks > 0).toMap
}

/** What executors hold of tables, summed up in this way. */
private final class HeldTables {
  private val sums = new HeldSums[String](file => _ => nameOf(file))
  private val tables = mutable.HashMap.empty[String, HeldTables.Files]

  /** As they were when each file came first: queries give tables names meanwhile. */
  private val names = mutable.HashMap.empty[String, String]

  /** The table, or the folder, that a file counts for. */
  def nameOf(file: HeldFile): String =
    names.getOrElseUpdate(file.path, TablesRead.nameOf(file.path))

  def add(executor: String, file: HeldFile): Unit = {
    val isNew = sums.add(executor, file)
    val table = tables.getOrElseUpdate(nameOf(file), new HeldTables.Files(file.path))
    if (isNew) {
      table.length += file.length
      table.lastPlanned = (TablesRead.get(file.path).map(_.atMillis) ++ table.lastPlanned).maxOption
    }
    table.bytesOf(executor) =
      table.bytesOf.getOrElse(executor, 0L) + file.chunks.iterator.map(_.bytes).sum
  }

  def result: Map[String, (HeldTables.Files, HeldSum)] =
    sums.result.map { case (table, sum) => table -> (tables(table) -> sum) }
}

private object HeldTables {

  /**
   * The files of a table of which executors hold some.
   *
   * @param onePath of one of them
   */
  final class Files(val onePath: String) {
    private[HeldTables] val bytesOf = mutable.HashMap.empty[String, Long]
    var length = 0L
    var lastPlanned = Option.empty[Long]

    /** What the executor holds that holds most. */
    def mostBytes: Long = bytesOf.values.maxOption.getOrElse(0L)

    /** What part of their table they are by their lengths, from 0 to 1; 1 where that has none known. */
    def part: Double =
      TablesRead.get(onePath).flatMap(_.length).filter(_ > length).fold(1.0)(length.toDouble / _)
  }
}
