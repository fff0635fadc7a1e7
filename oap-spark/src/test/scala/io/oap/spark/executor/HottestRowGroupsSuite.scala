package io.oap.spark.executor

import scala.jdk.CollectionConverters._

import io.oap.spark.CacheSuite

/** What an executor tells of how often its chunks were asked for. */
class HottestRowGroupsSuite extends CacheSuite {

  private def told(bytesByAsks: Long*): HotRowGroups =
    HotRowGroups(Array.empty, Array.empty, Array.empty, Array.empty, bytesByAsks.toArray)

  test("bytes that were asked for so often, or are pinned, are those that stay for less") {
    val some = told(1, 2, 4, 8)
    assert(some.bytesAskedFor(-1) === 15 && some.bytesAskedFor(0) === 15)
    assert(some.bytesAskedFor(1) === 14 && some.bytesAskedFor(1.5) === 12)
    assert(some.bytesAskedFor(3) === 8)
    assert(some.bytesAskedFor(1e9) === 8, "what is pinned leaves for nothing")
  }

  test("all chunks of the pool count, also where few row groups are told") {
    spark.range(1000).selectExpr("id", "id * 2 AS x").write.parquet(path("told"))
    for (_ <- 1 to 4) spark.read.parquet(path("told")).collect()
    val cache = ExecutorCache.get().get
    val bytes = cache.snapshot().chunks.asScala.map(_.bytes).sum
    val none = HottestRowGroups.of(cache, bytes = 0, most = 10)
    assert(none.files.isEmpty && none.bytesByAsks.sum === bytes)
    val all = HottestRowGroups.of(cache, bytes, most = 10)
    assert(all.bytes.sum === bytes && all.bytesAskedFor(2) === bytes)
  }
}
