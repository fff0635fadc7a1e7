package io.oap.spark.dataframe

import io.oap.spark.CacheControl

/** DataFrames that are larger than the pool. */
class TinyPoolFramesSuite extends FramesInPool {
  override protected def settings: Map[String, String] =
    super.settings + ("spark.oap.pool.size" -> "1m")

  test("pool_tooSmall_givesTheSameRows_andKeepsRoom") {
    assertCached(flat(60000))
    cached(flat(60000)) { frame =>
      frame.count()
      val pool = CacheControl.localPool().get
      assert(pool.pinnedBytes() > 0)
      assert(pool.pinnedBytes() <= pool.capacityBytes() / 5 * 4)
    }
  }

  test("pool_cleared_losesNoRow") {
    val plain = rows(flat(5000))
    cached(flat(5000)) { frame =>
      frame.count()
      CacheControl.clear(spark)
      assertRows(rows(frame), plain, "after clear")
    }
  }

  test("pool_evictedFrom_losesNoRow") {
    spark.range(300000).selectExpr("id", "id * 7 AS seven").write.parquet(path("table"))
    val plain = rows(flat(5000))
    cached(flat(5000)) { frame =>
      frame.count()
      for (_ <- 1 to 3)
        spark.read.parquet(path("table")).selectExpr("sum(id)", "sum(seven)").collect()
      assert(CacheControl.localPool().get.evictions() >= 0)
      assertRows(rows(frame), plain, "after others came")
    }
  }
}
