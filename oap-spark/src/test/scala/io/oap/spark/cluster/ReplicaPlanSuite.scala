package io.oap.spark.cluster

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.common.PoolShare
import io.oap.spark.placement.{LiveExecutor, Placement}

/** Which row groups get second copies, and where. */
final class ReplicaPlanSuite extends AnyFunSuite {
  private val seed: Long = java.lang.Long.getLong("oap.seed", 1)

  private def executor(id: String, host: String, capacity: Long = 1000): LiveExecutor =
    LiveExecutor(id, host, 1, capacity, 0)

  private def hot(
      holder: Int,
      key: Long,
      bytes: Long = 10,
      asks: Double = 4,
      keeper: Int = -1,
      isCopied: Boolean = false,
      copiedBytes: Long = 0): HotRowGroup = {
    val copied = if (isCopied) bytes else copiedBytes
    HotRowGroup(holder, key, key, 0, bytes, asks, keeper, copied, isCopied)
  }

  private def plan(
      share: String,
      executors: Array[LiveExecutor],
      all: HotRowGroup*): Map[Long, Int] =
    planBeside(empty, share, executors, all: _*)

  /** @param askedFor bytes of an executor's pool that were asked for so often or more often */
  private def planBeside(
      askedFor: (Int, Double) => Long,
      share: String,
      executors: Array[LiveExecutor],
      all: HotRowGroup*): Map[Long, Int] =
    ReplicaPlan.of(all, executors, PoolShare.parse(share), askedFor).map { case (one, keeper) =>
      one.key -> keeper
    }.toMap

  private val empty: (Int, Double) => Long = (_, _) => 0

  private val three = Array(executor("1", "a"), executor("2", "b"), executor("3", "c"))

  test("what is asked for most is copied, until the share of each pool is used") {
    val all = (1L to 300L).map(key => hot((key % 3).toInt, key, asks = 2 + key.toDouble))
    val chosen = plan("10%", three, all: _*)
    assert(chosen.size === 30 && chosen.values.groupBy(identity).values.forall(_.size == 10))
    assert(chosen.keys.min > 250, "some less hot ones take the place of those that find no room")
  }

  test("a copy goes where the hash places the row group among all but its holder") {
    val place = Placement.byHashAmong(three)
    val chosen = plan("50%", three, (1L to 50L).map(hot(1, _, bytes = 1)): _*)
    for ((key, keeper) <- chosen) assert(keeper === place(key, Array(true, false, true)))
    assert(chosen.values.toSet === Set(0, 2))
  }

  test("no copy lies on the holder's host, if there is another one") {
    val all = (1L to 100L).map(hot(0, _, bytes = 1))
    val two = Array(executor("1", "a"), executor("2", "a"), executor("3", "b"))
    assert(plan("50%", two, all: _*).values.toSet === Set(2))
    assert(plan("5%", two, all: _*).size === 50, "nor when the other one has no room")
    assert(plan("50%", two.take(2), all: _*).values.toSet === Set(1))
  }

  test("what has no pool gets nothing") {
    val all = (1L to 100L).map(hot(0, _, bytes = 1))
    val pools = Array(three(0), three(1).copy(capacityBytes = 0), three(2))
    assert(plan("50%", pools, all: _*).values.toSet === Set(2))
  }

  test("copies stay where they are, and give way to what is hotter by more than one ask only") {
    val copied = (1L to 10L).map(hot(0, _, keeper = 1, isCopied = true))
    val onesMore = (11L to 30L).map(hot(2, _, asks = 5))
    val chosen = plan("10%", three, copied ++ onesMore: _*)
    assert((1L to 10L).forall(chosen.get(_).contains(1)))
    val muchMore = (31L to 70L).map(hot(2, _, asks = 5.5))
    val moved = plan("10%", three, copied ++ muchMore: _*)
    assert((1L to 10L).forall(key => moved(key) == 2), "there is room")
  }

  test("a copy goes where it can enter: into free room, or for what was asked for less often") {
    val all = (1L to 60L).map(hot(0, _, asks = 4))
    // What executor 1 holds was asked for as often, but for one ask, all of that of 2 less often.
    val askedFor = (e: Int, asks: Double) => if (e == 1 && asks <= 3) 950L else 0L
    val chosen = planBeside(askedFor, "30%", three, all: _*)
    assert(chosen.values.groupBy(identity).map(one => one._1 -> one._2.size) === Map(
      1 -> 5,
      2 -> 30))
    val hotter = planBeside(askedFor, "30%", three, all.map(_.copy(asks = 4.5)): _*)
    assert(hotter.values.count(_ == 1) === 30)
    val copied = all.take(30).map(_.copy(keeper = 1, copiedBytes = 10, isCopied = true))
    val full = (e: Int, _: Double) => if (e == 1) 1000L else 0L
    assert(planBeside(full, "30%", three, copied: _*).values.toSet === Set(1), "they are there")
  }

  test("what a keeper has of a row group needs no room again, and no other one is chosen") {
    val some = (1L to 20L).map(hot(0, _, keeper = 1, copiedBytes = 6))
    val askedFor = (e: Int, _: Double) => if (e == 1) 1000L - 20 * 4 else 0L
    assert(planBeside(askedFor, "30%", three, some: _*).values.toSet === Set(1))
    val none = planBeside(askedFor, "30%", three, some.map(_.copy(copiedBytes = 0)): _*)
    assert(none.values.count(_ == 1) === 8 && none.size === 20)
  }

  test("random row groups and executors: nothing that would fit is left out for less") {
    info(s"oap.seed $seed")
    val random = new Random(seed)
    for (_ <- 1 to 300) {
      val hosts = 1 + random.nextInt(4)
      val executors = Array.tabulate(2 + random.nextInt(6))(e =>
        executor(e.toString, s"host${random.nextInt(hosts)}", random.nextInt(3) * 500L))
      def any() = random.nextInt(executors.length)
      val all = (1 to random.nextInt(200)).map { _ =>
        val holder = any()
        val keeper = if (random.nextBoolean()) -1 else any()
        hot(
          holder,
          random.nextInt(150).toLong,
          1L + random.nextInt(60),
          1 + random.nextInt(8),
          if (keeper == holder) -1 else keeper,
          keeper >= 0 && keeper != holder && random.nextBoolean()
        )
      }
      val share = PoolShare.parse(s"${1 + random.nextInt(60)}%")
      val held = executors.map(one => Seq.fill(10)(random.nextInt(10) * one.capacityBytes / 60))
      val askedFor = (e: Int, asks: Double) =>
        held(e).indices.filter(_ >= asks).map(held(e)(_)).sum
      check(all, executors, share, askedFor, ReplicaPlan.of(all, executors, share, askedFor))
    }
  }

  private def check(
      all: Seq[HotRowGroup],
      executors: Array[LiveExecutor],
      share: PoolShare,
      askedFor: (Int, Double) => Long,
      chosen: Seq[(HotRowGroup, Int)]): Unit = {
    val isOneHost = executors.map(_.host).distinct.length == 1
    def may(one: HotRowGroup, keeper: Int) = keeper != one.holder &&
      (isOneHost || executors(keeper).host != executors(one.holder).host)
    def heat(one: HotRowGroup) = one.asks + (if (one.isCopied) 1 else 0)
    assert(chosen.map(_._1.key).distinct.size === chosen.size)
    assert(chosen.forall { case (one, keeper) => may(one, keeper) && all.contains(one) })
    for ((keeper, some) <- chosen.groupMap(_._2)(_._1))
      assert(some.map(_.bytes).sum <= share.of(executors(keeper).capacityBytes))
    def isThere(one: HotRowGroup, e: Int) = one.isCopied && one.keeper == e
    for ((one, keeper) <- chosen if !isThere(one, keeper))
      assert(askedFor(keeper, one.asks - 1) + one.bytes <= executors(keeper).capacityBytes)
    val rooms = executors.indices.map { e =>
      share.of(executors(e).capacityBytes) - chosen.filter(_._2 == e).map(_._1.bytes).sum
    }
    for {
      one <- all.distinctBy(_.key) if !chosen.exists(_._1.key == one.key)
      e <- executors.indices if may(one, e)
    } {
      val before = chosen.filter { case (other, keeper) => keeper == e && heat(other) >= heat(one) }
      val lessHot = chosen.filter { case (other, keeper) => keeper == e && heat(other) < heat(one) }
      val entered = before.filterNot(other => isThere(other._1, e)).map(_._1.bytes).sum
      assert(
        rooms(e) + lessHot.map(_._1.bytes).sum < one.bytes || !isThere(one, e) &&
          askedFor(e, one.asks - 1) + entered + one.bytes > executors(e).capacityBytes,
        s"$one at $e")
    }
  }
}
