package io.oap.spark.placement

import org.scalatest.funsuite.AnyFunSuite

/**
 * What dev/placement-bench measures, at a twentieth of its size and without times: balance, memory
 * by the Directory's own estimate, and what moves when an executor is lost or joins.
 */
final class ScaleSuite extends AnyFunSuite {
  private val executors = 50
  private val splits = 5000
  private val simulation = new ScaleSimulation(executors, rowGroups = 21740, 4, seed = 1)

  test("cold pieces are balanced") {
    val plan = simulation.plan(splits, PlacementRules(usesResidency = false))
    assert(plan.imbalance <= 1.25)
  }

  test("all chunks are held, evenly and once, in little memory") {
    simulation.fill(splits / 4)
    val totals = simulation.directory.totals()
    assert(totals.executors.map(_.chunks).sum == 21740L * ScaleSimulation.Columns)
    assert(totals.heldTwiceBytes == 0)
    assert(totals.estimatedBytes < 10000000)
    val held = totals.executors.map(_.chunkBytes.toDouble)
    assert(held.max / (held.sum / held.size) <= 1.25)
    assert(simulation.plan(splits).imbalance <= 1.25)
  }

  test("a lost executor moves its own pieces, and no others") {
    val before = simulation.plan(splits).places
    val lost = before(0)
    simulation.directory.executorLost(lost)
    val after = simulation.plan(splits).places
    val moved = before.indices.filter(i => before(i) != after(i))
    assert(moved.map(before(_)).distinct == Seq(lost))
    assert(moved.size == before.count(_ == lost))
    assert(moved.size <= 1.5 * splits / executors)
  }
}
