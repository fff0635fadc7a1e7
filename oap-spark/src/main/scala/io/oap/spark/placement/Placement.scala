package io.oap.spark.placement

import scala.collection.mutable

/**
 * How pieces are placed.
 *
 * @param usesHash whether pieces that are cached nowhere are given an executor
 * @param usesResidency whether it counts what executors hold and where pieces were sent before
 * @param loadBytesPerSecond how fast a task reads the files; the default is for before it is known
 */
final case class PlacementRules(
    usesHash: Boolean = true,
    usesResidency: Boolean = true,
    loadBytesPerSecond: Double = 200e6)

/**
 * Says which executor each piece of a scan belongs to. A pure function: the same pieces, in the
 * same order, and the same executors give the same places.
 *
 * First the pieces that belong somewhere: to the executor that holds most of their wanted bytes,
 * or the one they were sent to before, or one that holds other columns of them. Executors with too
 * much of these give up some, where another would be done with them sooner; those that are busy,
 * nobody knows for how long, share some with the others. Then the cold ones, by rendezvous hashing
 * within limits of work and of what the pools take. What several executors hold, any of three may
 * read; and one that joined others late may read what they hold, until it has its part.
 */
object Placement {

  /** A piece of which less than this share is missing stays where it is. */
  private[spark] val MuchMissing = 0.05

  /** As many as copies of a block that file systems have: of more, none would wait less. */
  private[spark] val MostAlternatives = 2

  /**
   * Says which executor a piece goes to by the hash alone, as if nobody held anything or had
   * anything to do: its index, by the piece's `Hash64.pieceKey`.
   */
  def byHash(executors: Array[LiveExecutor]): Long => Int = {
    val place = byHashAmong(executors)
    val all = Array.fill(executors.length)(true)
    place(_, all)
  }

  /** [[byHash]], each time among some of the executors; -1 where there is none. */
  def byHashAmong(executors: Array[LiveExecutor]): (Long, Array[Boolean]) => Int = {
    val weights = new PlacementCost(executors, PlacementRules()).weights
    val rendezvous = new Rendezvous(executors.map(_.name), weights)
    (key, isOne) => rendezvous.first(key, isOne.map(if (_) 0 else Rendezvous.Never), null)
  }

  /**
   * Places the pieces of one scan.
   *
   * @param executors those of the [[DirectoryScan]] that the pieces come from, in the same order
   * @param expectedRoomBytes free bytes of pools that are expected to join soon: cold pieces that
   *     find no room wait for these, and displace nothing until then
   */
  def place(
      pieces: Array[PlacementUnit],
      executors: Array[LiveExecutor],
      rules: PlacementRules,
      expectedRoomBytes: Long = 0): Assignment = {
    val placed = Assignment.nowhere(pieces.length)
    if (executors.isEmpty) placed
    else {
      val placing = new Placing(pieces, executors, rules, expectedRoomBytes, placed)
      placing.placeThoseThatBelong()
      placing.setLimits()
      placing.relieveOverloaded()
      placing.placeCold()
      placing.shareWithLate()
      placing.shareCopies()
      placed.copy(bearableWaitSeconds = placing.bearableWaitSeconds)
    }
  }
}

/** The steps of placing one scan's pieces; `placed` is filled in. */
final private class Placing(
    pieces: Array[PlacementUnit],
    executors: Array[LiveExecutor],
    rules: PlacementRules,
    expectedRoomBytes: Long,
    placed: Assignment) {
  private val loads = new PlacementCost(executors, rules)
  private val places = placed.executors

  def bearableWaitSeconds: Double = loads.bearableWaitSeconds

  def placeThoseThatBelong(): Unit = if (rules.usesResidency) {
    val owners = pieces.map(ownerOf)
    // Otherwise what tasks have left where they ran by chance would pass for a full pool.
    for (i <- pieces.indices if owners(i) >= 0; holding <- pieces(i).holdings)
      if (holding.executor != owners(i) && isReleased(holding))
        loads.leave(holding.executor, holding.anyBytes)
    for (i <- pieces.indices if owners(i) >= 0 && !leaves(pieces(i), owners(i)))
      give(i, owners(i), isLasting = true, expectedRoomBytes > 0 && isTooMuch(pieces(i), owners(i)))
  }

  /** Whether a copy is given up, once its piece has a lasting place on another executor. */
  private def isReleased(copy: Holding): Boolean = executors(copy.executor).givesUpCopies

  private def isTooMuch(piece: PlacementUnit, owner: Int): Boolean =
    loads.displaces(owner, (piece.wantedBytes - held(piece, owner)).toDouble)

  /** Knows what is cold only after `placeThoseThatBelong`. */
  private lazy val cold = pieces.indices.filter(places(_) < 0)

  def setLimits(): Unit = loads.limit(
    cold.iterator.map(pieces(_).wantedBytes.toDouble).sum,
    cold.iterator.map(i => loads.seconds(pieces(i), 0)).sum,
    cold.length)

  def placeCold(): Unit = if (rules.usesHash) {
    val rendezvous = new Rendezvous(executors.map(_.name), loads.weights)
    val near = new NearExecutors(executors)
    var unclaimedRoom = loads.freeBytes + expectedRoomBytes
    for (i <- cold) {
      val piece = pieces(i)
      val key = Hash64.pieceKey(piece.file, piece.position)
      val chosen = rendezvous.first(key, loads.tiers, near.of(piece.hosts))
      if (chosen >= 0) {
        val waitsForRoom = loads.tiers(chosen) >= PlacementCost.WithoutRoom && unclaimedRoom > 0
        unclaimedRoom -= piece.wantedBytes
        give(i, chosen, isLasting = true, rules.usesResidency && waitsForRoom)
      }
    }
  }

  def relieveOverloaded(): Unit = {
    lazy val piecesOf = pieces.indices.filter(places(_) >= 0).groupBy(places(_))
    for (from <- executors.indices if loads.isOverloaded(from)) {
      val cheapestFirst =
        piecesOf.getOrElse(from, Nil).sortBy(i =>
          (held(pieces(i), from), Hash64.mix(pieces(i).position), i))
      var next = 0
      while (next < cheapestFirst.length && loads.isOverloaded(from)) {
        val isMoved = move(cheapestFirst(next), from)
        next = if (isMoved) next + 1 else cheapestFirst.length
      }
    }
  }

  /**
   * Moves a piece to where it is done first, if that is before it could begin where it is; or
   * shares it, where only time will tell.
   */
  private def move(i: Int, from: Int): Boolean = {
    val piece = pieces(i)
    val there = loads.start(from, loads.seconds(piece, held(piece, from)))
    var to = loads.firstDone(loads.seconds(piece, 0), from)
    var soonest = if (to >= 0) loads.finish(to, loads.seconds(piece, 0)) else there
    if (soonest >= there) to = -1
    for (h <- piece.holdings if h.executor != from && loads.isOpen(h.executor)) {
      val finish = loads.finish(h.executor, loads.seconds(piece, h.wantedBytes))
      if (finish < math.min(soonest, there)) {
        to = h.executor
        soonest = finish
      }
    }
    if (to >= 0) {
      loads.take(from, piece, held(piece, from), placed.isGuest(i))
      if (executors(from).waitSeconds > 0) {
        placed.alternatives(i) = Seq(to)
        placed.isLasting(i) = false
        loads.give(to, piece, held(piece, to), isGuest = true)
      } else
        give(
          i,
          to,
          isLasting = false,
          !loads.hasRoom(to) && held(piece, to) < piece.wantedBytes)
    }
    to >= 0
  }

  /**
   * Lets executors that joined late take over pieces as long as the others have work meanwhile:
   * first what they hold, then any, each by the one that would be done first. What they read they
   * keep, there is room, and hold it in the next scan.
   */
  def shareWithLate(): Unit = if (rules.usesResidency) {
    val isBehind = executors.indices.map(loads.hasLessThanItsPart).toArray
    if (isBehind.contains(true)) {
      val shareable = pieces.indices
        .filter(i => places(i) >= 0 && !isBehind(places(i)) && placed.alternatives(i).isEmpty)
        .sortBy(i => (Hash64.mix(pieces(i).position), i))
      for (i <- shareable)
        pieces(i).holdings.find(h => isBehind(h.executor)).foreach(h => shareWith(i, h.executor))
      val late = mutable.PriorityQueue.from(executors.indices.filter(isBehind(_)))(
        Ordering.by(executor => -loads.finish(executor, 0)))
      for (i <- shareable if placed.alternatives(i).isEmpty) {
        val soonest = late.dequeue()
        shareWith(i, soonest)
        late.enqueue(soonest)
      }
    }
  }

  /** Names a second executor for a piece if it would be done there before its own is with all. */
  private def shareWith(i: Int, other: Int): Unit = {
    val (piece, from) = (pieces(i), places(i))
    if (loads.finish(other, loads.seconds(piece, held(piece, other))) < loads.finish(from, 0)) {
      placed.alternatives(i) = Seq(other)
      loads.take(from, piece, held(piece, from), placed.isGuest(i))
      loads.give(other, piece, held(piece, other), isGuest = true)
    }
  }

  /**
   * Names the next executors that hold as much of a piece, in a ring. When one is slow, its
   * neighbours take over some of its pieces, and theirs some of theirs in turn (chained
   * declustering, Hsiao and DeWitt, 1990); and few different sets make few and large tasks.
   */
  def shareCopies(): Unit = if (rules.usesResidency)
    for (i <- pieces.indices if places(i) >= 0) {
      val bytes = held(pieces(i), places(i))
      if (bytes > 0) {
        val copies = pieces(i).holdings.iterator
          .filter(h => h.wantedBytes >= bytes && loads.isOpen(h.executor))
          .filterNot(h => placed.isLasting(i) && isReleased(h))
          .map(_.executor)
          .filter(e => e != places(i) && !placed.alternatives(i).contains(e))
          .toSeq.sortBy(e => Math.floorMod(e - places(i), executors.length))
        placed.alternatives(i) =
          (placed.alternatives(i) ++ copies).take(Placement.MostAlternatives)
      }
    }

  private def give(i: Int, executor: Int, isLasting: Boolean, isGuest: Boolean): Unit = {
    places(i) = executor
    placed.isGuest(i) = isGuest
    placed.isLasting(i) = isLasting && !isGuest
    loads.give(executor, pieces(i), held(pieces(i), executor), isGuest)
  }

  /** Whether a piece must leave the executor it belongs to; what is held there will be no use. */
  private def leaves(piece: PlacementUnit, owner: Int): Boolean = {
    val heldBytes = held(piece, owner)
    val missing = piece.wantedBytes - heldBytes
    // All columns of a row group move together, the others when they are asked for again.
    val allHeld = piece.holdings.find(_.executor == owner).fold(heldBytes)(_.anyBytes)
    val isMuch = missing > Placement.MuchMissing * piece.wantedBytes
    val leaves =
      isMuch && loads.isCrowdedOut(owner, missing.toDouble, (missing + allHeld).toDouble)
    if (leaves) loads.leave(owner, allHeld)
    leaves
  }

  /** The executor that a piece belongs to, or -1 where it has none. */
  private def ownerOf(piece: PlacementUnit): Int = {
    val warm = mostHeld(piece, h => if (loads.isOpen(h.executor)) h.wantedBytes else 0)
    if (warm >= 0) warm
    else if (piece.home >= 0 && loads.isOpen(piece.home) && loads.hasPool(piece.home)) piece.home
    else mostHeld(piece, h => if (loads.isOpen(h.executor)) h.anyBytes else 0)
  }

  /**
   * The executor that holds most by this measure; or, of those that hold at least half as much, the
   * one that holds most of all columns: if a row group's columns have come to lie here and there,
   * they are brought together, and what is held twice is used in one place and evicted in the
   * other. Of equal ones the home; without one any, by hash, lest the first have all to do.
   */
  private def mostHeld(piece: PlacementUnit, bytes: Holding => Long): Int = {
    var most = 0L
    for (holding <- piece.holdings) most = math.max(most, bytes(holding))
    var found: Holding = null
    for (holding <- piece.holdings if bytes(holding) > 0 && bytes(holding) >= most / 2)
      if (found == null || isMore(holding, found, piece)) found = holding
    if (found == null) -1 else found.executor
  }

  private def isMore(a: Holding, b: Holding, piece: PlacementUnit): Boolean = {
    def draw(holding: Holding) =
      Hash64.mix(Hash64.pieceKey(piece.file, piece.position) + holding.executor)
    if (a.anyBytes != b.anyBytes) a.anyBytes > b.anyBytes
    else a.executor == piece.home || b.executor != piece.home && draw(a) > draw(b)
  }

  /**
   * Wanted bytes that the executor holds of a piece. What was sent there, and is still to be
   * reported, counts as held.
   */
  private def held(piece: PlacementUnit, executor: Int): Long =
    if (!rules.usesResidency) 0L
    else {
      val at = piece.holdings.indexWhere(_.executor == executor)
      if (at >= 0) piece.holdings(at).wantedBytes
      else if (piece.isOnItsWay && piece.home == executor) piece.wantedBytes
      else 0L
    }
}

/** Which executors run on the hosts of a piece. */
final private class NearExecutors(executors: Array[LiveExecutor]) {
  private val byHost = executors.indices.groupBy(executors(_).host)
  private val isNear = new Array[Boolean](executors.length)
  private var near = Seq.empty[Int]

  /** By executor, until the next call; or null where there is none. */
  def of(hosts: Array[String]): Array[Boolean] = {
    near.foreach(isNear(_) = false)
    near = hosts.toSeq.flatMap(byHost.getOrElse(_, Nil))
    near.foreach(isNear(_) = true)
    if (near.isEmpty) null else isNear
  }
}
