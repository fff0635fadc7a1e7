package io.oap.spark.cluster

import scala.collection.mutable.ArrayBuffer

import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.stats.{CacheCounters, Figure}
import io.oap.spark.status.Figures

/** Which executors dynamic allocation is told to keep, and until when. */
final class EarnedExecutorsSuite extends AnyFunSuite {
  private var now = 0L
  private val told = ArrayBuffer.empty[(String, Boolean)]
  private val executors = new EarnedExecutors(100, (id, stays) => told += id -> stays, () => now)

  private def figures(fromPool: Long, fromFile: Long): Figures = {
    val counters = new CacheCounters
    counters.add(Figure.BYTES_FROM_POOL, fromPool)
    counters.add(Figure.BYTES_FROM_FILE, fromFile)
    Figures.of(counters)
  }

  private def toldNow(): Seq[(String, Boolean)] = {
    val all = told.toSeq
    told.clear()
    all
  }

  test("a pool that gave more than was read into it keeps its executor while it is used") {
    executors.reported("1", figures(0, 50))
    executors.reported("1", figures(50, 50))
    assert(toldNow() === Nil)
    executors.reported("1", figures(51, 50))
    assert(toldNow() === Seq("1" -> true))
    now = 99
    executors.check()
    executors.reported("1", figures(60, 50))
    now = 198
    executors.check()
    assert(toldNow() === Nil)
    now = 199
    executors.check()
    executors.check()
    assert(toldNow() === Seq("1" -> false))
    executors.reported("1", figures(60, 50))
    assert(toldNow() === Nil, "figures without a use")
    executors.reported("1", figures(61, 50))
    assert(toldNow() === Seq("1" -> true))
    executors.lost("1")
    now = 1000
    executors.check()
    assert(toldNow() === Nil)
  }
}
