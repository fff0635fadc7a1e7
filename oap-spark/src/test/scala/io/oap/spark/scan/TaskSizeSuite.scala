package io.oap.spark.scan

import scala.util.Random

import org.apache.spark.sql.execution.datasources.FilePartition

import io.oap.spark.CacheSuite

/** How much of a scan one task gets. */
class TaskSizeSuite extends CacheSuite {
  private val MB = 1L << 20

  private def bytes(all: Long, readShare: Double, dropsRows: Boolean = true): Long =
    TaskSize.bytes(spark, spark.sessionState.conf, all, readShare, dropsRows)

  test("as Spark packs them, unless rows are dropped") {
    for (all <- Seq(1L, 100 * MB, 100000 * MB)) {
      assert(bytes(all, 0.1, dropsRows = false) == FilePartition.maxSplitBytes(spark, all))
      assert(bytes(all, 1) == FilePartition.maxSplitBytes(spark, all))
    }
  }

  test("by the columns that are read, while three tasks are left for each core") {
    // The session has two cores; Spark alone would put 128 MB into a task.
    assert(bytes(100000 * MB, 0.1) == 1280 * MB)
    assert(bytes(1800 * MB, 0.1) == 300 * MB)
    assert(bytes(600 * MB, 0.1) == 128 * MB)
    withConf("spark.sql.files.minPartitionNum" -> "3") {
      assert(bytes(1800 * MB, 0.1) == 200 * MB)
    }
    withConf("spark.sql.leafNodeDefaultParallelism" -> "4") {
      assert(bytes(1800 * MB, 0.1) == 150 * MB)
    }
    withConf("spark.sql.files.maxPartitionNum" -> "4") {
      assert(bytes(1800 * MB, 0.1) == 450 * MB)
      assert(bytes(1800 * MB, 1, dropsRows = false) == 450 * MB)
    }
  }

  test("tasks of about equal size, all items once and in order") {
    val seed = System.nanoTime()
    val random = new Random(seed)
    withClue(s"seed $seed: ") {
      for (_ <- 1 to 300) {
        val items = Seq.fill(random.nextInt(60))(1 + random.nextInt(20).toLong)
        val most = 20 + random.nextInt(200).toLong
        val packed = TaskSize.packed[Long](items, identity, most)
        assert(packed.flatten == items)
        // To the nearer end: half of an item more than the share, and no more.
        assert(packed.forall(_.sum <= most + 10))
        assert(packed.size <= items.sum / most * 2 + 2)
        // Equal items: equal tasks, but for the last one.
        val equal = TaskSize.packed[Long](items.map(_ => 10L), identity, most)
        assert(equal.init.map(_.size).distinct.size <= 1 && equal.last.size <= equal.head.size)
      }
    }
  }

  test("never more items than a reader can go down") {
    val packed = TaskSize.packed[Int](0 until 2500, _ => 1L, Long.MaxValue / 4)
    assert(packed.map(_.size) == Seq(1000, 1000, 500) && packed.flatten == (0 until 2500))
  }
}
