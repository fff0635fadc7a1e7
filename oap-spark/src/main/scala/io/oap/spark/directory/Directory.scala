package io.oap.spark.directory

import java.util.{HashMap, LinkedHashMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.google.common.collect.Interners

import io.oap.spark.placement.{LiveExecutor, PlacementRules}
import io.oap.spark.rpc.{FileDelta, FileLayout, ResidencyDelta, ResidencyReply}

/**
 * The driver's map of residency: which chunks of which files each executor holds, by its reports,
 * and to which executor plans have sent what is held nowhere yet (its home).
 *
 * It is safe for threads: reports arrive while queries are planned. All is under one lock, which is
 * held for one file or one report at a time; only to sweep out many lost executors is it held longer.
 * What it does not know, or has forgotten for want of room, makes queries slower, never wrong.
 *
 * @param limitBytes bytes of heap, estimated, above which the files used longest ago are forgotten;
 *     a file is used by a report on it and by a plan that asks for it
 * @param nanoTime a clock as `System.nanoTime`
 */
final class Directory(limitBytes: Long, nanoTime: () => Long = () => System.nanoTime()) {
  private val executors = new HashMap[String, KnownExecutor]
  private val slots = new Slots
  private val files = new LinkedHashMap[java.lang.Long, FileChunks](16, 0.75f, true)
  private val schemas = Interners.newWeakInterner[FileColumns]()
  private val homes =
    new Assignments(math.min(Directory.MaxHomes, limitBytes / 4 / Assignments.BytesOfOne).toInt)
  private val guesses =
    new SizeEstimates(math.min(
      Directory.MaxGuesses,
      limitBytes / 8 / SizeEstimates.BytesOfOne).toInt)
  private val losses = new LostCapacity(nanoTime)
  private val pools = new KnownPools(losses, giveUpSlot, nanoTime)

  /** By `Hash64.pieceKey`. Never written to once it is here. */
  @volatile private var replicas = mutable.LongMap.empty[KnownPool]
  private var fileBytes = 0L
  private var changesOfSlots = 0L

  /**
   * An executor may be given work from now on, unless no stage of a query runs there. Known
   * executors keep what they hold.
   */
  def executorJoined(
      id: String,
      host: String,
      cores: Int,
      runsQueries: Boolean = true): Unit = synchronized {
    val executor = executors.computeIfAbsent(
      id,
      _ => {
        val joined = new KnownExecutor(id)
        joined.host = host
        joined.runsQueries = runsQueries
        joined.isLate = executors.values.asScala.exists(_.chunks > 0)
        joined.isNewcomer = runsQueries && joined.isLate
        slots.take(joined)
        changesOfSlots += 1
        pools.joined(joined)
        joined
      }
    )
    executor.host = host
    executor.cores = cores
    executor.runsQueries = runsQueries
  }

  /**
   * An executor is given no work any more, and what it holds counts no more, though it is there.
   *
   * @return whether that is news
   */
  def executorLeaves(id: String): Boolean = synchronized {
    val executor = Option(executors.get(id)).filterNot(_.isLeaving)
    executor.foreach(_.isLeaving = true)
    executor.isDefined
  }

  /**
   * Whether what an executor holds that leaves is lost with it, as no other one that takes work has
   * its pool. Says so once for a pool.
   */
  def takesPoolAlong(id: String): Boolean =
    synchronized(Option(executors.get(id)).exists(one => one.pool.takeLeaving(one)))

  /** Ids of the executors that have the pool of this one, itself among them. */
  def having(id: String): Seq[String] =
    synchronized(Option(executors.get(id)).toSeq.flatMap(_.pool.members.map(_.id)))

  /**
   * Whether an executor has joined others that held something, and takes the place of none. Says so
   * once: who asks is to see to it.
   */
  def takeNewcomer(id: String): Boolean = synchronized {
    val newcomer = Option(executors.get(id)).filter(_.isNewcomer)
    newcomer.foreach(_.isNewcomer = false)
    newcomer.isDefined
  }

  /**
   * All that the executor held is forgotten, and for some minutes another one is expected to take
   * its place, unless it was to leave, or others have its pool; an unknown executor is no error.
   */
  def executorLost(id: String): Unit = forget(id, isReplaced = true)

  /** Forgets what an executor held that was given up on purpose: nothing takes its place. */
  def executorReleased(id: String): Unit = forget(id, isReplaced = false)

  private def forget(id: String, isReplaced: Boolean): Unit = synchronized {
    changesOfSlots += 1
    Option(executors.remove(id)).foreach(pools.left(_, isReplaced))
  }

  /** Whether an executor has joined and has not been lost. */
  def isLive(id: String): Boolean = synchronized(executors.containsKey(id))

  /** The executors that have joined and have not been lost. */
  def executorIds: Set[String] = synchronized(executors.keySet.asScala.toSet)

  /**
   * Takes in a report. Where chunks are both evicted and added, they are held.
   *
   * @throws IllegalArgumentException when a layout has not as many sizes as row groups times
   *     columns; what stands before it in the report has been taken in
   */
  def accept(delta: ResidencyDelta): ResidencyReply = synchronized {
    val executor = executors.get(delta.executor)
    if (executor == null || (delta.from != 0 && delta.from != executor.lastReport)) {
      ResidencyReply(isAccepted = false, Array.emptyLongArray)
    } else {
      if (delta.from == 0) {
        giveUpSlot(executor)
        slots.take(executor)
        executor.isIncomplete = false
      }
      executor.lastReport = delta.to
      executor.capacityBytes = delta.capacityBytes
      executor.usedBytes = delta.usedBytes
      executor.loadBytesPerSecond = delta.loadBytesPerSecond
      if (pools.told(executor, delta.pool, executors.values.asScala)) changesOfSlots += 1
      val withoutLayout = delta.files.filterNot(take(executor, _)).map(_.file)
      if (delta.from == 0) pools.replaceFormer(executor.pool)
      forgetOldFiles()
      ResidencyReply(isAccepted = true, withoutLayout.toArray)
    }
  }

  /**
   * Begins to look files up for one scan.
   *
   * @param columns names of the top-level columns the scan reads
   */
  def scan(columns: Iterable[String], isCaseSensitive: Boolean): DirectoryScan =
    new DirectoryScan(this, new WantedColumns(columns, isCaseSensitive))

  /**
   * Sums over all that is known. It goes through all files, some at a time, so that plans and
   * reports need not wait: what changes meanwhile may be counted or not.
   */
  def totals(): DirectoryTotals = {
    val all = synchronized(files.values.toArray(new Array[FileChunks](0)))
    var held, heldTwice = 0L
    for (some <- all.grouped(Directory.FilesAtATime)) synchronized {
      for (file <- some) {
        val sums = new DistinctBytes(file, slots)
        held += sums.held
        heldTwice += sums.heldTwice
      }
    }
    synchronized {
      val now = nanoTime()
      val executors = known().map(_.pool).distinct.flatMap(_.totals(now))
      DirectoryTotals(executors, files.size, held, heldTwice, estimatedBytes)
    }
  }

  /** How fast a task reads files, on the average of the executors that know; if any does. */
  def loadBytesPerSecond: Option[Double] = synchronized {
    val rates = executors.values.asScala.map(_.loadBytesPerSecond).filter(_ > 0)
    if (rates.isEmpty) None else Some(rates.sum / rates.size)
  }

  /** The rules with the speed that was measured, where any was. */
  def measured(rules: PlacementRules): PlacementRules =
    loadBytesPerSecond.fold(rules)(rate => rules.copy(loadBytesPerSecond = rate))

  /** Bytes of heap the Directory takes, about. */
  def estimatedBytes: Long = synchronized {
    fileBytes + homes.estimatedBytes + guesses.estimatedBytes +
      replicas.size * Directory.BytesOfReplica
  }

  /**
   * The pools of the live executors that take work, by ascending id of the first of these, as they
   * are known and as they are now.
   */
  private[spark] def snapshot(): (Array[KnownPool], Array[LiveExecutor]) = synchronized {
    val now = nanoTime()
    val live = known().filter(_.takesWork).map(_.pool).distinct.toArray
    (live, live.flatMap(_.live(now)))
  }

  private[spark] def expectedRoomBytes: Long = synchronized(losses.bytes)

  /** Calls with the file and the owners of slots, under the lock, or gives None for an unknown file. */
  private[spark] def look[A](file: Long)(at: (FileChunks, Slots, Long) => A): Option[A] =
    synchronized(Option(files.get(file)).map(at(_, slots, changesOfSlots)))

  /** Calls with the key and the layout of each file, which never changes: without the lock. */
  private[spark] def foreachLayout(visit: (Long, FileChunks) => Unit): Unit =
    entries().foreach(file => visit(file.getKey, file.getValue))

  /**
   * Calls with the key of each file of which an executor holds something, its content, the number of
   * the holder, and the pools of slots: under the lock, which others get in between.
   */
  private[spark] def foreachFileOf(id: String)(
      visit: (Long, FileChunks, Int, Int => KnownPool) => Unit): Unit =
    for (some <- entries().grouped(Directory.FilesAtATime)) synchronized {
      for (executor <- Option(executors.get(id)); file <- some) {
        val holder = file.getValue.find(executor.slot)
        if (holder >= 0) visit(file.getKey, file.getValue, holder, slots.pool)
      }
    }

  private def entries() = synchronized(files.entrySet.asScala.toArray)

  /**
   * Some of the executors of which not all is known here, or not any more: they are to be asked for
   * a snapshot. Each is named once in ten minutes at most.
   */
  private[spark] def snapshotsToAsk(): Seq[String] = synchronized {
    val now = nanoTime()
    val due = known().filter(e =>
      e.isIncomplete && e.askedAt.forall(now - _ >= Directory.SnapshotNanos))
    val some = due.take(Directory.SnapshotsAtATime)
    some.foreach(_.askedAt = Some(now))
    some.map(_.id)
  }

  private[spark] def home(key: Long): Option[KnownPool] = synchronized(homes.get(key))

  /**
   * The pool that keeps a second copy of a piece for the case that the first is lost, if one is
   * to. Until then plans do not see that copy.
   */
  private[spark] def replica(key: Long): Option[KnownPool] = replicas.get(key)

  /**
   * Says of which pieces pools keep second copies from now on.
   *
   * @param all by `Hash64.pieceKey`; not to be changed any more
   */
  private[spark] def keepReplicas(all: mutable.LongMap[KnownPool]): Unit = replicas = all

  /** Remembers that a plan has sent a piece to a pool, for `bytes` to be cached there. */
  private[spark] def settle(key: Long, pool: KnownPool, bytes: Long): Unit = synchronized {
    for (executor <- pool.speaker) {
      homes.put(key, executor)
      executor.plan(bytes, nanoTime())
    }
  }

  /**
   * The bytes of the last plan were a guess, the length of a range of a file whose layout nobody
   * knew. They are put right as soon as it is known: files may hold many times what is read of them,
   * and pools would seem full that are not.
   */
  private[spark] def guessed(
      file: Long,
      from: Long,
      bytes: Long,
      pool: KnownPool,
      wanted: WantedColumns): Unit = synchronized {
    pool.speaker.foreach(one => guesses.add(file, Guess(one, from, bytes, wanted, nanoTime())))
    Option(files.get(file)).foreach(putRight(file, _))
  }

  private def putRight(file: Long, known: FileChunks): Unit =
    for (guess <- guesses.take(file))
      guess.executor.putRight(guess.wantedBytes(known) - guess.bytes, guess.madeAt, nanoTime())

  private def known(): Seq[KnownExecutor] = executors.values.asScala.toSeq.sortBy(_.id)

  private def giveUpSlot(executor: KnownExecutor): Unit = {
    slots.giveUp(executor)
    changesOfSlots += 1
    if (slots.isSweepDue) {
      slots.sweep(files.values)
      fileBytes = files.values.asScala.iterator.map(_.estimatedBytes).sum
    }
  }

  /** Returns whether the file's layout is known, or not needed since nothing was added. */
  private def take(executor: KnownExecutor, delta: FileDelta): Boolean = {
    val known = Option(files.get(delta.file)).orElse(delta.layout.map(learn(delta.file, _)))
    known.foreach { file =>
      fileBytes -= file.estimatedBytes
      val change = file.change(executor.slot, delta.evicted, delta.added)
      fileBytes += file.estimatedBytes
      executor.chunks += change.chunks
      executor.chunkBytes += change.bytes
      executor.arrived(change.newBytes, nanoTime())
    }
    known.isDefined || delta.added.forall(_ == 0)
  }

  private def learn(file: Long, layout: FileLayout): FileChunks = {
    require(
      layout.chunkBytes.length == layout.starts.length * layout.columns.length,
      s"${layout.chunkBytes.length} sizes for ${layout.starts.length} row groups of ${layout.columns.length}"
    )
    val columns = schemas.intern(new FileColumns(layout.columns))
    val learned = new FileChunks(columns, layout.starts, layout.chunkBytes)
    files.put(file, learned)
    fileBytes += learned.estimatedBytes
    putRight(file, learned)
    learned
  }

  private def forgetOldFiles(): Unit = {
    val oldest = files.entrySet.iterator
    while (estimatedBytes > limitBytes && oldest.hasNext) {
      val file = oldest.next().getValue
      for (holder <- 0 until file.holders; owner <- Option(slots.owner(file.slot(holder))))
        file.foreachHeld(holder) { chunk =>
          owner.chunks -= 1
          owner.chunkBytes -= file.chunkBytes(chunk)
          owner.isIncomplete = true
        }
      fileBytes -= file.estimatedBytes
      oldest.remove()
    }
  }
}

private[spark] object Directory {
  private val MaxHomes = 1L << 18
  private val MaxGuesses = 1L << 17
  private val FilesAtATime = 1000

  /** Key and value in the arrays of a map that are half empty. */
  private val BytesOfReplica = 32L
  private val SnapshotNanos = 600L * 1000 * 1000 * 1000
  private val SnapshotsAtATime = 10
}
