package io.oap.spark.directory

import java.util.Arrays

/** What the Directory knows of an executor. Not safe for threads. */
final private[spark] class KnownExecutor(val id: String) {
  var host = ""
  var cores = 1

  /** What it has, or had when it was there. */
  var pool: KnownPool = _
  var isLate = false

  /** Whether it is to have a part of what others held when it joined. */
  var isNewcomer = false
  var isLeaving = false

  /** Whether stages of queries may run there. */
  var runsQueries = true
  var slot = -1
  var lastReport = 0L
  var capacityBytes = -1L
  var usedBytes = 0L
  var loadBytesPerSecond = 0.0
  var chunks = 0L
  var chunkBytes = 0L

  /** Whether it may hold chunks of which nothing is known here. */
  var isIncomplete = true

  /** When it was to be asked for a snapshot last. */
  var askedAt = Option.empty[Long]

  /** Whether plans may name it. */
  def takesWork: Boolean = runsQueries && !isLeaving

  /** Whether it has told of its pool. */
  def hasReported: Boolean = capacityBytes >= 0
  private var planned = 0L
  private var plannedAt = 0L

  /** So many bytes more are planned, or fewer, but never less than none. */
  def plan(bytes: Long, now: Long): Unit = {
    planned = math.max(plannedBytes(now) + bytes, 0)
    plannedAt = now
  }

  /** What has arrived is not planned any more. */
  def arrived(bytes: Long, now: Long): Unit = plan(-bytes, now)

  /** What was planned at a time was so many bytes too little, or too much. */
  def putRight(bytes: Long, madeAt: Long, now: Long): Unit = plan(faded(bytes, madeAt, now), now)

  /**
   * Half of what is planned is given up after each half-life: a query may be cancelled, or leave
   * row groups out, and no report will ever say so.
   */
  def plannedBytes(now: Long): Long = faded(planned, plannedAt, now)

  private def faded(bytes: Long, since: Long, now: Long): Long =
    (bytes * math.pow(0.5, (now - since).toDouble / KnownExecutor.HalfLifeNanos)).toLong
}

private[spark] object KnownExecutor {
  private val HalfLifeNanos = 30e9
}

/**
 * The numbers under which files keep what executors hold. Giving up a slot forgets all that was
 * held in it at once; its number is given out again after a sweep has gone through the files, which
 * is worth while for many slots together. Not safe for threads.
 */
final private[spark] class Slots {
  private var owners = new Array[KnownExecutor](64)
  private var end = 0
  private val free = new java.util.ArrayDeque[Integer]
  private val retired = new java.util.BitSet

  /** The executor that has the slot, or null where it has been given up. */
  def owner(slot: Int): KnownExecutor = owners(slot)

  /** The pool that what is held in the slot is in, or null where no executor has that any more. */
  def pool(slot: Int): KnownPool = {
    val executor = owners(slot)
    if (executor == null || !executor.pool.isLive) null else executor.pool
  }

  /** Numbers given out so far are below this. */
  def length: Int = end

  /** Gives the executor a slot in which nothing is held. */
  def take(executor: KnownExecutor): Unit = {
    val slot = if (free.isEmpty) { end += 1; end - 1 }
    else free.poll().intValue
    if (slot == owners.length) owners = Arrays.copyOf(owners, owners.length * 2)
    owners(slot) = executor
    executor.slot = slot
    executor.chunks = 0
    executor.chunkBytes = 0
  }

  def giveUp(executor: KnownExecutor): Unit = {
    owners(executor.slot) = null
    if (executor.chunks == 0) free.add(executor.slot) else retired.set(executor.slot)
    executor.slot = -1
  }

  /** Whether so many slots wait for a sweep that one is worth its time. */
  def isSweepDue: Boolean = retired.cardinality > math.max(Slots.FewSlots, end / 4)

  def sweep(files: java.util.Collection[FileChunks]): Unit = {
    files.forEach(_.forget(slot => retired.get(slot)))
    retired.stream.forEach(slot => free.add(slot): Unit)
    retired.clear()
  }
}

private object Slots {
  private val FewSlots = 32
}
