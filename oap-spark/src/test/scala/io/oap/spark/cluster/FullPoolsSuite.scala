package io.oap.spark.cluster

import org.scalatest.concurrent.Eventually.{eventually, interval, timeout}
import org.scalatest.time.SpanSugar._

import io.oap.spark.{CacheControl, ExecutorsSuite, ExtendedTest}

/** An executor that leaves while all pools are full, mostly of what nobody asks for again. */
@ExtendedTest
class FullPoolsSuite extends ExecutorsSuite(FullPoolsSuite.Executors) with HotAndCold {
  import FullPoolsSuite.Executors

  private val Files = 24

  override protected def settings: Map[String, String] =
    super.settings +
      ("spark.oap.pool.size" -> "2m") +
      ("spark.decommission.enabled" -> "true") +
      ("spark.storage.decommission.enabled" -> "true") +
      ("spark.oap.cache.representation" -> "encoded") +
      // Long enough for a loaded machine to look at it in peace.
      ("spark.oap.cache.handOver" -> "20s")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    // A part of the pools that one may lack, and more than there is in all of them.
    write("hot", Files, rowsOfEach = 2500)
    write("cold", Files, rowsOfEach = 40000)
  }

  test("what is asked for often takes the place of what is not in the pools that are left") {
    val expected = alone(rows(query("hot")))
    eventually(timeout(1.minute)) {
      for (_ <- 1 to 4) query("hot").collect()
      assert(CacheControl.held(spark).values.count(hot(_).nonEmpty) === Executors)
    }
    fillPools(tenths = 8)
    query("hot").collect()
    val before = CacheControl.held(spark)
    val leaving = before.keys.maxBy(id => hot(before(id)).size)
    signal(processes()(leaving), "PWR")
    val all = before.values.flatMap(hot).toSet
    eventually(timeout(30.seconds), interval(100.millis)) {
      val left = (CacheControl.held(spark) - leaving).values.flatMap(hot).toSet
      assert(all -- left === Set.empty, s"of ${all.size}")
    }
    assert(Cluster.of(spark.sparkContext).directory.isLive(leaving), "all this while it is there")
    assert(rows(query("hot")) === expected)
  }
}

private object FullPoolsSuite {
  val Executors = 3
}
