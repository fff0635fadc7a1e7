package io.oap.spark.placement

/**
 * What the executors have to do and to hold as the pieces of a scan are given out.
 *
 * Work is in seconds of all cores of an executor; what reads and decodes is modelled as in
 * [[PlacementRules]]. Fill is in bytes of its pool.
 */
final private class PlacementCost(executors: Array[LiveExecutor], rules: PlacementRules) {
  private val capacities = PlacementCost.capacities(executors)
  private val cores = executors.map(e => math.max(e.cores, 1).toDouble)
  private val open = executors.map(!_.waitSeconds.isInfinite)
  private val waits = executors.map(e => if (e.waitSeconds.isInfinite) 0 else e.waitSeconds)
  private val planned = executors.map(e => if (rules.usesResidency) e.plannedBytes.toDouble else 0)
  private val fills = executors.indices.toArray.map(e =>
    if (rules.usesResidency) executors(e).usedBytes + planned(e) else 0)
  private val work = new Array[Double](executors.length)
  private val pieces = new Array[Int](executors.length)
  private var noRoomFor = Double.PositiveInfinity
  private var typicalBytes = 0.0
  private var meanWork = Double.PositiveInfinity
  private var targetFill = Double.PositiveInfinity

  /** By executor, the share of pieces it should get by hash. Pools without room get next to none. */
  val weights: Array[Double] = {
    val most = math.max(capacities.max, 1)
    capacities.map(bytes => math.max(bytes / most, PlacementCost.LeastWeight))
  }

  /** By executor: how well a cold piece would lie there, the lowest the best. */
  val tiers = new Array[Int](executors.length)

  /** Seconds a task works on a piece at an executor that holds `heldBytes` of its wanted bytes. */
  def seconds(piece: PlacementUnit, heldBytes: Long): Double = {
    val missing = math.max(piece.wantedBytes - heldBytes, 0).toDouble
    PlacementCost.SecondsOfPiece + missing / rules.loadBytesPerSecond +
      piece.wantedBytes / PlacementCost.DecodedBytesPerSecond
  }

  /** Takes note that an executor gets a piece. */
  def give(executor: Int, piece: PlacementUnit, heldBytes: Long, isGuest: Boolean): Unit = {
    work(executor) += seconds(piece, heldBytes) / cores(executor)
    pieces(executor) += 1
    if (!isGuest) fills(executor) += math.max(piece.wantedBytes - heldBytes, 0)
    update(executor)
  }

  /** The opposite of [[give]]. */
  def take(executor: Int, piece: PlacementUnit, heldBytes: Long, isGuest: Boolean): Unit = {
    work(executor) -= seconds(piece, heldBytes) / cores(executor)
    pieces(executor) -= 1
    if (!isGuest) fills(executor) -= math.max(piece.wantedBytes - heldBytes, 0)
    update(executor)
  }

  /**
   * Sets the limits by which cold pieces are given out.
   *
   * @param coldBytes wanted bytes of all cold pieces
   * @param coldSeconds seconds that tasks will work on them
   * @param coldPieces their number
   */
  def limit(coldBytes: Double, coldSeconds: Double, coldPieces: Int): Unit = {
    val used = executors.indices.filter(open(_))
    val all = if (used.nonEmpty) used else executors.indices
    typicalBytes = coldBytes / math.max(coldPieces, 1)
    meanWork = (all.map(e => work(e) * cores(e)).sum + coldSeconds) / all.map(cores).sum
    targetFill = (all.map(fills).sum + coldBytes) / all.map(capacities).sum
    executors.indices.foreach(update)
  }

  /** Free bytes of the pools that take pieces without displacing anything. */
  def freeBytes: Double = executors.indices
    .filter(e => open(e) && hasRoom(e))
    .map(e => capacities(e) * PlacementCost.FullAt - fills(e))
    .sum

  /**
   * Whether a row group had better be cached elsewhere than where it belongs, because that pool is
   * full and another one takes it without displacing anything.
   *
   * @param missing wanted bytes that are not held where it belongs
   * @param all these and all that is held there
   */
  def isCrowdedOut(executor: Int, missing: Double, all: Double): Boolean =
    displaces(executor, missing) && isRoomFor(all)

  /** Whether bytes displace others in a pool, by what is known to be there. */
  def displaces(executor: Int, bytes: Double): Boolean =
    bytes > 0 && !takes(executor, bytes - planned(executor))

  /** Takes note that what an executor holds of a piece will not be asked for there again. */
  def leave(executor: Int, heldBytes: Long): Unit = {
    fills(executor) -= heldBytes
    noRoomFor = Double.PositiveInfinity
  }

  private def takes(executor: Int, bytes: Double): Boolean =
    fills(executor) + bytes <= PlacementCost.FullAt * capacities(executor)

  /** Fills only grow, but for `leave`, so what found no room finds none afterwards. */
  private def isRoomFor(bytes: Double): Boolean = bytes < noRoomFor && {
    val found = executors.indices.exists(e => open(e) && takes(e, bytes))
    if (!found) noRoomFor = bytes
    found
  }

  /** Whether the executor's pool takes a piece without displacing anything. */
  def hasRoom(executor: Int): Boolean = takes(executor, typicalBytes)

  /** Whether tasks can run there at all. */
  def isOpen(executor: Int): Boolean = open(executor)

  /** Whether it has a pool, as far as is known. */
  def hasPool(executor: Int): Boolean = capacities(executor) > 0

  /**
   * Whether pieces wait there so long that others could take them over: for one another, or for
   * what runs there already.
   */
  def isOverloaded(executor: Int): Boolean =
    (pieces(executor) > cores(executor) || waits(executor) > 0) &&
      done(executor) > PlacementCost.BoundOfHeld * meanWork

  /**
   * Whether an executor joined the others late and its pool has not filled as theirs have. Only
   * where there is room for copies: in smaller pools they would displace what no other holds.
   */
  def hasLessThanItsPart(executor: Int): Boolean =
    executors(executor).isLate && targetFill <= PlacementCost.FillWithRoomForCopies &&
      open(executor) && waits(executor) == 0 &&
      fills(executor) < targetFill * capacities(executor)

  /** When a piece of so many seconds, which the executor has, would begin there as the last one. */
  def start(executor: Int, seconds: Double): Double = done(executor) - seconds / cores(executor)

  /** When the executor would be done with a piece of so many seconds after all it has. */
  def finish(executor: Int, seconds: Double): Double = done(executor) + seconds

  /**
   * For how long an executor may be waited for. So long the others have work of their own, about,
   * and none stands idle for it.
   */
  def bearableWaitSeconds: Double = (PlacementCost.BoundOfHeld - 1) * meanWork

  private def done(executor: Int): Double = waits(executor) + work(executor)

  /** The executor, but for one, that would be done first with a piece; -1 without any. */
  def firstDone(seconds: Double, but: Int): Int = {
    var found = -1
    var soonest = Double.PositiveInfinity
    // Asked for each piece that is moved, hence a loop.
    var executor = 0
    while (executor < work.length) {
      val end = finish(executor, seconds)
      if (end < soonest && executor != but && open(executor)) {
        found = executor
        soonest = end
      }
      executor += 1
    }
    found
  }

  private def update(executor: Int): Unit = tiers(executor) = tier(executor)

  private def tier(e: Int): Int = {
    val isLight = done(e) < PlacementCost.BoundOfCold * meanWork
    val isBelowTarget = fills(e) < slackOfFill * targetFill * capacities(e)
    if (!open(e) || !hasPool(e)) Rendezvous.Never
    else if (waits(e) > bearableWaitSeconds) PlacementCost.Busy
    else if (hasRoom(e)) {
      if (isLight && isBelowTarget) 0
      else if (isLight) 1
      else if (done(e) < PlacementCost.BoundOfRoom * meanWork) 2
      else PlacementCost.Overworked
    } else if (!isLight) PlacementCost.Overworked
    else if (isBelowTarget) PlacementCost.WithoutRoom
    else PlacementCost.WithoutRoom + 1
  }

  private def slackOfFill: Double =
    if (rules.usesResidency) PlacementCost.SlackWithMemory else PlacementCost.SlackWithoutMemory
}

private object PlacementCost {

  /** From this tier on, pools have no room for a cold piece. */
  val WithoutRoom = 3
  private val Overworked = 5
  private val Busy = 6

  /** A pool fuller than this share of its capacity displaces what it holds. */
  private val FullAt = 0.98

  /** Of pools that are fuller on average some would be full with a copy of half of all. */
  private val FillWithRoomForCopies = 0.5

  /** Work of one executor, as a multiple of the mean, beyond which it gets no more cold pieces. */
  private val BoundOfCold = 1.1

  /** Bound for a pool that has room while the other pools have none, as a multiple of the mean work. */
  private val BoundOfRoom = 3.0

  /** Bound for pieces that the executor holds; to move these costs loading them again. */
  private val BoundOfHeld = 1.5

  /**
   * How far above its share a pool is filled before pieces go elsewhere. Little, where it is
   * remembered what went elsewhere; without a memory the same pieces should go there in every scan.
   */
  private val SlackWithMemory = 1.02
  private val SlackWithoutMemory = 1.1

  /**
   * Encoded bytes that a task decodes and works on in a second, about: of the nine queries of
   * dev/quickstart 40 MB with Spark alone, three times as many in the best case.
   */
  private val DecodedBytesPerSecond = 100e6

  /** What a task costs that reads nothing. */
  private val SecondsOfPiece = 0.01

  private val LeastWeight = 1e-6

  /** Executors that have not reported are taken for average ones. */
  private def capacities(executors: Array[LiveExecutor]): Array[Double] = {
    val known = executors.filter(_.capacityBytes > 0).map(_.capacityBytes.toDouble)
    val average = if (known.isEmpty) Double.MaxValue / 1e200 else known.sum / known.length
    executors.map(e => if (e.capacityBytes < 0) average else e.capacityBytes.toDouble)
  }
}
