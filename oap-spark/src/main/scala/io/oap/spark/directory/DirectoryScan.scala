package io.oap.spark.directory

import java.util.{IdentityHashMap, Locale}

import scala.collection.mutable

import io.oap.spark.executor.ReleaseRowGroups
import io.oap.spark.placement.{
  Assignment,
  Hash64,
  Holding,
  LiveExecutor,
  PlacementUnit,
  RowGroupView
}

/**
 * The Directory in the light of one scan: the executors that are live as it begins, and what they
 * hold of the columns it reads. Those that have a pool together count as one. For one thread.
 */
final class DirectoryScan private[spark] (directory: Directory, wanted: WantedColumns) {
  private val (known, live) = directory.snapshot()
  private val indices = new IdentityHashMap[KnownPool, Int]
  known.indices.foreach(index => indices.put(known(index), index))

  /** Capacity of the pools that were lost lately and are expected to be replaced. */
  val expectedRoomBytes: Long = directory.expectedRoomBytes

  private var indexOfSlot = Array.emptyIntArray
  private var changesSeen = -1L
  private var missesHolders = false
  private val unknown = mutable.HashSet.empty[Long]

  /** The live executors, by ascending id; holdings and homes are indices into them. */
  def executors: Array[LiveExecutor] = live

  /** The row groups of a file in ascending order, or None when the Directory does not know it. */
  def rowGroups(file: Long): Option[Array[RowGroupView]] = {
    val found = directory.look(file) { (chunks, slots, changes) =>
      if (changes != changesSeen) {
        indexOfSlot = Array.tabulate(slots.length)(slot => index(slots.pool(slot)))
        changesSeen = changes
      }
      val ordinals = wanted.ordinals(chunks.columns)
      Array.tabulate(chunks.starts.length)(rowGroup => view(file, chunks, rowGroup, ordinals))
    }
    if (found.isEmpty) unknown += file
    missesHolders ||= found.forall(_.exists(_.holdings.isEmpty))
    found
  }

  /**
   * Ids of executors that are to be asked for a snapshot, since they may hold what nobody is known
   * to hold of the row groups that were looked up.
   */
  def snapshotsToAsk(): Seq[String] = if (missesHolders) directory.snapshotsToAsk() else Nil

  /**
   * Index of the executor to which a plan has given the piece that begins there, or -1.
   *
   * @param file `FileIdentity.placementKey`
   * @param position first byte of the piece
   */
  def home(file: Long, position: Long): Int =
    directory.home(Hash64.pieceKey(file, position)).fold(-1)(index)

  /** Remembers where pieces were placed, for the plans made before reports tell of them. */
  def settle(pieces: Array[PlacementUnit], placed: Assignment): Unit =
    for (i <- pieces.indices if placed.executors(i) >= 0 && !placed.isGuest(i)) {
      val piece = pieces(i)
      val executor = placed.executors(i)
      val isKnownThere = piece.isOnItsWay && piece.home == executor
      val heldBytes = piece.holdings.find(_.executor == executor).fold(0L)(_.wantedBytes)
      if (heldBytes < piece.wantedBytes) {
        val bytes = if (isKnownThere) 0 else piece.wantedBytes - heldBytes
        directory.settle(Hash64.pieceKey(piece.file, piece.position), known(executor), bytes)
        if (bytes > 0 && unknown(piece.file))
          directory.guessed(piece.file, piece.position, bytes, known(executor), wanted)
      }
    }

  /**
   * Row groups of which other executors still hold something than the one where they are to lie
   * from now on, by id of those executors. Only of pools that give them up: elsewhere copies do no
   * harm, and serve while the other executor is busy.
   */
  def uselessCopies(
      pieces: Array[PlacementUnit],
      placed: Assignment): Map[String, ReleaseRowGroups] = {
    val copies = for {
      i <- pieces.indices if placed.isLasting(i)
      holding <- pieces(i).holdings if holding.executor != placed.executors(i)
      holder = live(holding.executor)
      if holder.givesUpCopies
    } yield holder.id -> pieces(i)
    copies.groupMap(_._1)(_._2).map { case (id, some) =>
      val released = some.take(DirectoryScan.MostReleased).toArray
      id -> ReleaseRowGroups(released.map(_.file), released.map(_.position))
    }
  }

  private def index(pool: KnownPool): Int =
    if (pool == null) -1 else indices.getOrDefault(pool, -1)

  // A plan looks many row groups up, hence loops.
  private def view(
      key: Long,
      file: FileChunks,
      rowGroup: Int,
      ordinals: Array[Int]): RowGroupView = {
    val columns = file.columns.names.length
    val first = rowGroup * columns
    val holdings = Array.newBuilder[Holding]
    for (holder <- 0 until file.holders) {
      val executor = indexOfSlot(file.slot(holder))
      if (executor >= 0) {
        var any, wanted = 0L
        for (column <- 0 until columns if file.isHeld(holder, first + column))
          any += file.chunkBytes(first + column)
        for (ordinal <- ordinals if file.isHeld(holder, first + ordinal))
          wanted += file.chunkBytes(first + ordinal)
        if (any > 0) holdings += Holding(executor, wanted, any)
      }
    }
    val start = file.starts(rowGroup)
    RowGroupView(
      start,
      start + file.rowGroupBytes(rowGroup),
      file.wantedBytes(rowGroup, ordinals),
      withoutReplica(
        Hash64.pieceKey(key, file.position(rowGroup)),
        Holding.ordered(holdings.result()))
    )
  }

  /**
   * Leaves out a second copy that is kept for a loss, as long as another executor holds as much: it
   * is not given up, no task is sent there, and none loads there what the copy lacks.
   */
  private def withoutReplica(piece: Long, holdings: Array[Holding]): Array[Holding] =
    if (holdings.length < 2) holdings
    else {
      val keeper = directory.replica(piece).fold(-1)(index)
      val (copies, others) = holdings.partition(_.executor == keeper)
      if (copies.forall(copy => others.exists(_.wantedBytes >= copy.wantedBytes))) others
      else holdings
    }
}

private[spark] object DirectoryScan {

  /** Bound of a message's size; the next scans say the rest. */
  private val MostReleased = 10000
}

/**
 * The top-level columns a scan reads, as leaves of each schema it meets. Used under the Directory's
 * lock only.
 */
final private class WantedColumns(names: Iterable[String], isCaseSensitive: Boolean) {
  private val wanted = names.map(folded).toSet
  private val ordinalsOf = new IdentityHashMap[FileColumns, Array[Int]]

  /** Ordinals of the wanted leaf columns, ascending. */
  def ordinals(columns: FileColumns): Array[Int] = ordinalsOf.computeIfAbsent(
    columns,
    _ => columns.names.indices.filter(leaf => wanted(folded(columns.names(leaf)))).toArray)

  private def folded(name: String): String =
    if (isCaseSensitive) name else name.toLowerCase(Locale.ROOT)
}
