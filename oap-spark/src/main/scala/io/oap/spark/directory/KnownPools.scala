package io.oap.spark.directory

import java.util.HashMap

import scala.jdk.CollectionConverters._

import io.oap.spark.placement.{LiveExecutor, Member}

/**
 * A pool as the Directory knows it: of one executor, or of several that have it together. Each of
 * these tells of all that is in it. Not safe for threads.
 *
 * @param home where a pool lies that executors share; nothing where it is the own one of an executor
 */
final private[spark] class KnownPool(val home: Option[String]) {

  /** The executors that have it, by ascending id. */
  private[directory] var members = Vector.empty[KnownExecutor]

  /** The last executor that had it and told of it, as long as no other one has told since. */
  private[directory] var former = Option.empty[FormerMember]

  /** Whether others have copied what is in it, as all that had it were to leave. */
  private[directory] var isHandedOver = false

  private[directory] def isOn(host: String): Boolean =
    members.exists(_.host == host) || former.exists(_.executor.host == host)

  /** Whether an executor has it. */
  def isLive: Boolean = members.nonEmpty

  /** Who is asked about the pool, and told what concerns it; nobody when none is there. */
  def speaker: Option[KnownExecutor] =
    members.find(one => one.hasReported && one.takesWork)
      .orElse(members.find(_.takesWork)).orElse(members.headOption)

  /**
   * Whether it is lost with an executor that leaves, as no other that has told of it takes work.
   * Says so once, of an executor that has told what is in it.
   */
  private[directory] def takeLeaving(leaving: KnownExecutor): Boolean = {
    val isLost = leaving.hasReported && !isHandedOver &&
      !members.exists(one => one.takesWork && one.hasReported)
    isHandedOver ||= isLost
    isLost
  }

  /** Who knows how large it is and what is in it. */
  private def teller: Option[KnownExecutor] =
    speaker.filter(_.hasReported).orElse(members.find(_.hasReported))
      .orElse(former.map(_.executor)).orElse(members.headOption)

  /** The pool with the executors that take work; with all that have it, where none does. */
  private[directory] def live(now: Long): Option[LiveExecutor] =
    for (first <- speaker; teller <- teller) yield {
      val some = if (first.takesWork) members.filter(_.takesWork) else members
      LiveExecutor(
        first.id,
        first.host,
        some.map(_.cores).sum,
        teller.capacityBytes,
        teller.usedBytes,
        members.map(_.plannedBytes(now)).sum,
        isLate = first.isLate,
        others = some.filter(_ ne first).map(one => Member(one.id, one.host)),
        pool = home
      )
    }

  private[directory] def totals(now: Long): Option[ExecutorTotals] =
    for (one <- live(now); first <- speaker) yield ExecutorTotals(
      one,
      members.map(_.chunks).max,
      members.map(_.chunkBytes).max,
      first.lastReport)
}

/** An executor that is gone, and when it went. */
final private[directory] case class FormerMember(executor: KnownExecutor, nanos: Long)

/**
 * Which executors have which pool. A shared one outlives its executors: what is known of it is kept
 * for some minutes, for the next one on the host. Not safe for threads.
 *
 * @param losses told of pools that are gone
 * @param forget called with an executor that is gone when what it has told counts no more
 * @param nanoTime a clock as `System.nanoTime`
 */
final private class KnownPools(
    losses: LostCapacity,
    forget: KnownExecutor => Unit,
    nanoTime: () => Long) {
  private val shared = new HashMap[String, KnownPool]

  /**
   * An executor has come of which nothing is known yet. Where others on its host share a pool, it
   * is taken to have that, too, until it tells.
   */
  def joined(executor: KnownExecutor): Unit = {
    forgetOld()
    // Rather one that executors have than one that is remembered.
    val there = shared.values.asScala.filter(_.isOn(executor.host)).maxByOption(_.isLive)
    enter(executor, there.getOrElse(new KnownPool(None)))
    // What takes the place of a lost one needs its room for what that one held.
    if (executor.pool.members.size == 1 && executor.runsQueries && losses.joined())
      executor.isNewcomer = false
  }

  /**
   * An executor tells which pool it has.
   *
   * @param all the executors that there are
   * @return whether that is news
   */
  def told(
      executor: KnownExecutor,
      home: Option[String],
      all: Iterable[KnownExecutor]): Boolean = {
    val isNew = executor.pool.home != home
    if (isNew) {
      leave(executor)
      enter(
        executor,
        home.fold(new KnownPool(None))(shared.computeIfAbsent(
          _,
          name => new KnownPool(Some(name)))))
      if (home.isDefined)
        for (one <- all if one.host == executor.host && !one.hasReported && one.pool.home.isEmpty) {
          leave(one)
          enter(one, executor.pool)
        }
    }
    isNew
  }

  /**
   * An executor is gone.
   *
   * @param isReplaced whether another one is expected to take its place, if it was not to leave
   */
  def left(executor: KnownExecutor, isReplaced: Boolean): Unit = {
    leave(executor)
    val pool = executor.pool
    if (isReplaced && executor.takesWork && !pool.isLive) {
      val told = if (executor.hasReported) None else pool.former.map(_.executor)
      losses.lost(told.getOrElse(executor).capacityBytes)
    }
    if (pool.home.isDefined && executor.hasReported && !pool.members.exists(_.hasReported)) {
      // Nobody else has told what is in it.
      pool.former = Some(FormerMember(executor, nanoTime()))
      shared.put(pool.home.get, pool)
    } else forget(executor)
    forgetOld()
  }

  /** What a member has told of a pool from the beginning takes the place of what a former one did. */
  def replaceFormer(pool: KnownPool): Unit = {
    pool.former.foreach(one => forget(one.executor))
    pool.former = None
  }

  private def enter(executor: KnownExecutor, pool: KnownPool): Unit = {
    for (other <- pool.members.headOption.orElse(pool.former.map(_.executor))) {
      // It has all that is there, as the others have.
      executor.isLate = other.isLate
      executor.isNewcomer = false
    }
    pool.members = (pool.members :+ executor).sortBy(_.id)
    pool.isHandedOver = false
    executor.pool = pool
  }

  private def leave(executor: KnownExecutor): Unit = {
    val pool = executor.pool
    pool.members = pool.members.filter(_ ne executor)
    if (!pool.isLive && pool.former.isEmpty) pool.home.foreach(shared.remove(_))
  }

  private def forgetOld(): Unit =
    shared.values.removeIf { pool =>
      val isOld = !pool.isLive && pool.former.forall(nanoTime() - _.nanos > KnownPools.KeptNanos)
      if (isOld) replaceFormer(pool)
      isOld
    }
}

private object KnownPools {

  /** An executor that is lost is started again by then, or not at all. */
  private val KeptNanos = 300L * 1000 * 1000 * 1000
}
