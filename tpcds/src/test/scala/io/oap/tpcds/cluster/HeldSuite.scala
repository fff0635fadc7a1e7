package io.oap.tpcds.cluster

import org.scalatest.funsuite.AnyFunSuite

import io.oap.spark.{ChunkInPool, HeldByExecutor}

/** What is said of the pools of several executors. */
class HeldSuite extends AnyFunSuite {
  private def held(executors: (String, Map[String, Long])*): Held =
    Held(executors.map { case (id, chunks) =>
      val named = chunks.map { case (key, bytes) =>
        ChunkInPool(key, if (key == "c") "" else s"file:/data/table_of_$key/part", "x") -> bytes
      }
      id -> HeldByExecutor("host", named, 1000, 0, 0)
    }.toMap)

  private val two = held("0" -> Map("a" -> 100L, "b" -> 65L), "1" -> Map("b" -> 65L, "c" -> 70L))

  test("copies count for what is cached, not for what is needed") {
    assert(two.bytes == Map("0" -> 165L, "1" -> 135L))
    assert(two.totalBytes == 300)
    assert(two.distinct.values.sum == 235)
    assert(two.heldTwice == 65.0 / 300)
    assert(two.neededBytes == 128 * 3)
  }

  test("copies are summed by table") {
    assert(two.copiesByTable == Map("table_of_b" -> 65L))
    val three = held("0" -> Map("c" -> 7L), "1" -> Map("c" -> 7L), "2" -> Map("c" -> 7L, "a" -> 1L))
    assert(three.copiesByTable == Map("unknown" -> 14L))
  }

  test("an executor that holds nothing counts in the mean") {
    assert(two.maxOverMean == 165.0 / 150)
    assert(held("0" -> Map("a" -> 90L), "1" -> Map.empty[String, Long]).maxOverMean == 2)
  }

  test("empty pools are balanced and hold nothing twice") {
    val empty = held("0" -> Map.empty[String, Long], "1" -> Map.empty[String, Long])
    assert(empty.maxOverMean == 1)
    assert(empty.heldTwice == 0)
    assert(held().maxOverMean == 1)
  }

  test("given up is what others than the lost one no longer hold") {
    val after = held("0" -> Map("b" -> 65L, "d" -> 10L), "2" -> Map("a" -> 100L))
    assert(after.givenUpSince(two, "1") == 100)
    assert(after.givenUpSince(two, "none of them") == 100 + 70)
    assert(two.givenUpSince(two, "1") == 0)
  }

  test("what another one still has is not given up, nor is the copy of what was lost") {
    val before = held(
      "0" -> Map("a" -> 1L, "b" -> 2L, "c" -> 4L),
      "1" -> Map("b" -> 2L),
      "2" -> Map("c" -> 4L, "d" -> 8L))
    assert(before.bytesAlone("0") == 1 && before.bytesAlone("1") == 0)
    assert(held("0" -> Map("a" -> 1L)).givenUpSince(before, "2") == 2)
    assert(held("1" -> Map("b" -> 2L)).givenUpSince(before, "2") == 1)
    assert(held("0" -> Map("a" -> 1L, "b" -> 2L)).givenUpSince(before, "1") == 4 + 8)
    // Who has it instead has read it from files.
    assert(held("3" -> Map("a" -> 1L, "b" -> 2L)).givenUpSince(before, "2") == 1 + 2)
  }

  test("chunks of equal length are all counted") {
    assert(held().givenUpSince(held("0" -> Map("a" -> 5L, "b" -> 5L)), "1") == 10)
  }
}
