package io.oap.spark.placement

/** An executor as Spark's scheduler knows it. */
final case class Member(id: String, host: String) {

  /** How a task says that it is best run there. */
  def location: String = s"executor_${host}_$id"
}

/**
 * An executor that may be given work; or several that have one pool together, which count as one:
 * what one of them holds all hold.
 *
 * @param id Spark's id of the executor; of several, of the one that is asked about the pool
 * @param cores tasks it runs at a time; of several, all together
 * @param capacityBytes capacity of its pool; 0 where it has none, negative until it has reported
 * @param usedBytes what is used of it, by its last report
 * @param plannedBytes what plans have sent there that no report tells of yet
 * @param waitSeconds how much longer than on the executor that is free first a task is expected to
 *     wait for a slot there; infinite for an executor to be left out
 * @param isLate whether others held something already when it joined
 * @param others the other executors that have the pool
 * @param pool the home of a pool that is shared; nothing where it is one executor's own
 */
final case class LiveExecutor(
    id: String,
    host: String,
    cores: Int,
    capacityBytes: Long,
    usedBytes: Long,
    plannedBytes: Long = 0,
    waitSeconds: Double = 0,
    isLate: Boolean = false,
    others: Seq[Member] = Nil,
    pool: Option[String] = None) {

  /** What the hash knows it by: it stays as executors of a shared pool come and go. */
  def name: String = pool.getOrElse(id)

  /** All executors that have the pool. */
  def members: Seq[Member] = Member(id, host) +: others

  /** Knows how much longer a task is expected to wait for the first of them that is free. */
  def waiting(seconds: String => Double): LiveExecutor =
    copy(waitSeconds = members.map(member => seconds(member.id)).min)

  /**
   * Whether it gives up copies of what lies elsewhere, since they take the room of what no other
   * executor holds. Not in a shared pool, where other applications may read them.
   */
  def givesUpCopies: Boolean =
    pool.isEmpty && usedBytes > LiveExecutor.NearlyFull * capacityBytes
}

private[spark] object LiveExecutor {
  private val NearlyFull = 0.9
}

/**
 * What an executor holds of a piece.
 *
 * @param executor index into the executors of the same [[DirectoryScan]]
 * @param wantedBytes encoded bytes of the chunks it holds of the wanted columns
 * @param anyBytes the same of all columns
 */
final case class Holding(executor: Int, wantedBytes: Long, anyBytes: Long)

private[spark] object Holding {

  /**
   * Orders holdings by executor, one for each. Where several executors have a pool together, each
   * tells what is in it: the one counts that has told of most.
   */
  def ordered(told: Array[Holding]): Array[Holding] =
    if (told.length < 2) told
    else {
      val sorted = told.sortBy(_.executor)
      val isOneEach =
        (1 until sorted.length).forall(i => sorted(i - 1).executor != sorted(i).executor)
      if (isOneEach) sorted
      else sorted.sortBy(-_.anyBytes).distinctBy(_.executor).sortBy(_.executor)
    }
}

/**
 * A row group as the Directory knows it, in the light of the columns that a scan wants.
 *
 * @param start its first byte in the file
 * @param end the byte after its last
 * @param wantedBytes encoded bytes of its wanted columns
 * @param holdings by ascending executor; only executors that hold something of the row group
 */
final case class RowGroupView(
    start: Long,
    end: Long,
    wantedBytes: Long,
    holdings: Array[Holding])

/**
 * What is placed as one: a row group, several of them, or a range of bytes of a file that the
 * Directory does not know.
 *
 * @param file `FileIdentity.placementKey`
 * @param position first byte; file and position are what the piece is known by from scan to scan
 * @param wantedBytes bytes to be read, cached or not: those of the wanted columns, where known
 * @param holdings at most one for each executor
 * @param home index of the executor that a plan gave the piece to before, or -1
 * @param hosts hosts that have the piece on a disk of theirs; empty when that is unknown
 */
final case class PlacementUnit(
    file: Long,
    position: Long,
    wantedBytes: Long,
    holdings: Array[Holding],
    home: Int,
    hosts: Array[String]) {

  /** Whether nobody is known to hold anything of it, but a plan has sent it to its home. */
  def isOnItsWay: Boolean = home >= 0 && holdings.isEmpty
}

/**
 * Where the pieces of a scan go, by their place in the array that was given.
 *
 * @param executors index of the executor that is to read the piece, or -1 for no preference
 * @param alternatives indices of others that may read it, should they have nothing else to do
 *     before the first one has a slot
 * @param isGuest whether the piece belongs elsewhere or found no room: its chunks should be taken
 *     into that executor's pool only where they displace nothing
 * @param isLasting whether that executor is where it is to lie from now on, so that what others hold
 *     of it is of no use
 * @param bearableWaitSeconds for how long an executor may be waited for without others standing
 *     idle for it
 */
final case class Assignment(
    executors: Array[Int],
    alternatives: Array[Seq[Int]],
    isGuest: Array[Boolean],
    isLasting: Array[Boolean],
    bearableWaitSeconds: Double)

private[spark] object Assignment {
  def nowhere(pieces: Int): Assignment = Assignment(
    Array.fill(pieces)(-1),
    Array.fill(pieces)(Nil),
    new Array[Boolean](pieces),
    new Array[Boolean](pieces),
    0)
}
