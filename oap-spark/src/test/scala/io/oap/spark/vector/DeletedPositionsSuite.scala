package io.oap.spark.vector

import java.util.BitSet

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.oap.cache.vector.NativeBuffer

/** Which rows of zones and batches are left when deleted ones are left out, compared with sets of numbers. */
class DeletedPositionsSuite extends AnyFunSuite {
  private val seed: Long = java.lang.Long.getLong("oap.seed", 1)

  private def wanted(selection: RowSelection): Seq[Int] =
    (0 until selection.count).map(selection.number)

  test(s"any rows of any batches, seed $seed") {
    val random = new Random(seed)
    val selection = new RowSelection(new NativeBuffer(2 * 4096))
    for (_ <- 1 to 500) {
      val bits = new BitSet
      for (_ <- 1 to random.nextInt(300)) {
        val at = random.nextInt(60000)
        bits.set(at, at + 1 + random.nextInt(if (random.nextInt(9) == 0) 6000 else 3))
      }
      val positions = new DeletedPositions(bits)
      for (_ <- 1 to 5) {
        val start = random.nextInt(60000)
        val inGroup = random.nextInt(9)
        val rows = 1 + random.nextInt(4096)
        val group = positions.ofRowGroup(start, inGroup + rows)
        val ofGroup = start until start + inGroup + rows
        assert(group.isEmpty === !ofGroup.exists(bits.get))
        selection.reset(rows)
        if (random.nextBoolean()) selection.passOver(random.nextInt(rows))
        val before = wanted(selection)
        val applied = positions.applied
        group.leaveOut(selection, inGroup, rows)
        val expected = before.filterNot(row => bits.get(start + inGroup + row))
        assert(wanted(selection) === expected)
        assert(positions.applied - applied === before.size - expected.size)
        group.leaveOut(selection, inGroup, rows)
        assert(wanted(selection) === expected, "asked again")
      }
    }
  }

  test("row groups behind all positions") {
    val bits = new BitSet
    bits.set(100000)
    val positions = new DeletedPositions(bits)
    val selection = new RowSelection(new NativeBuffer(2 * 4096))
    for ((start, left) <- Seq(
        0L -> 4096,
        99990L -> 4095,
        100001L -> 4096,
        99990L -> 4095,
        Int.MaxValue + 5L -> 4096)) {
      selection.reset(4096)
      positions.ofRowGroup(start, 4096).leaveOut(selection, 0, 4096)
      assert(selection.count === left, start)
    }
  }
}
