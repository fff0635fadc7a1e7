package io.oap.spark.dataframe

import org.apache.spark.storage.StorageLevel

import io.oap.spark.{CacheControl, ExecutorsSuite}

/** Cached DataFrames on executors that are processes of their own. */
class FrameExecutorsSuite extends ExecutorsSuite(2) with FramesInPool {

  private def bytesOnExecutors: Long =
    spark.sql("SELECT coalesce(sum(used_bytes), 0) FROM oap.system.executors").head().getLong(0)

  test("executors_twoHoldThem_andGiveTheSameRows") {
    assertRowsOf(StorageLevel.MEMORY_ONLY)
    assertRowsOf(StorageLevel.MEMORY_AND_DISK_2)
  }

  private def assertRowsOf(level: StorageLevel): Unit = {
    val plain = rows(flat(20000))
    val frame = flat(20000).persist(level)
    try {
      for (run <- 1 to 3) assertRows(rows(frame), plain, s"run $run at $level")
      assert(bytesOnExecutors > 0, level)
    } finally frame.unpersist(blocking = true)
    assert(bytesOnExecutors === 0, level)
  }

  test("executor_killed_losesNoRow") {
    val plain = rows(flat(20000))
    val frame = flat(20000).cache()
    try {
      assertRows(rows(frame), plain, "filled")
      val victim = CacheControl.held(spark).keys.toSeq.sorted.head
      assert(spark.sparkContext.killExecutor(victim))
      assertRows(rows(frame), plain, "after an executor was killed")
    } finally frame.unpersist(blocking = true)
  }
}
